//! How TLS begins.

use std::net::Ipv4Addr;
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

/// A ClientHello (RFC 8446 4.1.2) that offers TLS 1.3 and 1.2, with the name of a server (RFC 6066 3) or without one, in a record.
///
/// All targets get the same one, and its secrets are thrown away: what the server says first is looked at, and no
/// session begins.
pub(super) fn hello(name: Option<&str>) -> Result<Vec<u8>, String> {
    let server = match name {
        Some(name) => ServerName::try_from(name.to_owned()).map_err(|error| error.to_string())?,
        None => ServerName::from(Ipv4Addr::UNSPECIFIED),
    };
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let mut connection =
        ClientConnection::new(Arc::new(config), server).map_err(|error| error.to_string())?;
    let mut hello = Vec::new();
    connection.write_tls(&mut hello).map_err(|error| error.to_string())?;
    Ok(hello)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where `part` is in `whole`.
    fn find(whole: &[u8], part: &[u8]) -> Option<usize> {
        whole.windows(part.len()).position(|window| window == part)
    }

    #[test]
    fn it_is_one_record_with_one_handshake_message() {
        let hello = hello(Some("www.example.com")).unwrap();
        // RFC 8446 5.1: handshake, TLS 1.0 for old servers, a length; 4: client_hello, a length.
        assert_eq!(hello[..3], [22, 3, 1]);
        assert_eq!(usize::from(u16::from_be_bytes([hello[3], hello[4]])), hello.len() - 5);
        assert_eq!((hello[5], usize::from(hello[8])), (1, (hello.len() - 9) % 256));
        assert!(find(&hello, b"www.example.com").is_some());
    }

    #[test]
    fn without_a_name_none_is_sent() {
        let hello = hello(None).unwrap();
        assert_eq!((hello[0], find(&hello, b"0.0.0.0")), (22, None));
    }
}
