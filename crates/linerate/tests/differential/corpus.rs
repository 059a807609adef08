//! Packets from the folder of captures, by link type.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use linerate::base::{LinkType, Source};
use linerate::lab::need;
use linerate::savefile::Reader;

/// Of each file some packets do, and of each packet its headers.
const PACKETS_OF_A_FILE: usize = 40;
const BYTES_OF_A_PACKET: usize = 160;

type Corpus = BTreeMap<LinkType, Vec<Vec<u8>>>;

/// The real packets of this link type; none where the captures are missing, which is then said.
pub(crate) fn packets(link_type: LinkType) -> &'static [Vec<u8>] {
    static CORPUS: OnceLock<Corpus> = OnceLock::new();
    CORPUS.get_or_init(read_all).get(&link_type).map_or(&[], Vec::as_slice)
}

fn read_all() -> Corpus {
    let mut corpus = Corpus::new();
    let Some(folder) = need::captures() else { return corpus };
    let entries = folder.read_dir().expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<_> = entries.collect();
    paths.sort();
    for path in paths {
        read_file(&path, &mut corpus);
    }
    corpus.values_mut().for_each(|packets| {
        packets.sort();
        packets.dedup();
    });
    corpus
}

/// Some of the captures are broken on purpose: what comes before the fault is taken.
fn read_file(path: &Path, corpus: &mut Corpus) {
    let file = File::open(path).expect("a readable capture");
    let Ok(mut reader) = Reader::new(file) else { return };
    let mut taken = 0;
    while taken < PACKETS_OF_A_FILE
        && let Ok(Some(batch)) = reader.next_batch(Duration::ZERO)
    {
        for packet in batch.iter().take(PACKETS_OF_A_FILE - taken) {
            let data = &packet.data[..packet.data.len().min(BYTES_OF_A_PACKET)];
            corpus.entry(packet.link_type).or_default().push(data.to_vec());
            taken += 1;
        }
    }
}
