"""A certificate of one process: made when it starts, known by its fingerprint, and gone with it."""

from __future__ import annotations

import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_LIFE = timedelta(days=3650)


def new_certificate(name: str) -> tuple[ssl.SSLContext, bytes]:
    """Answer the context of a server with a key of its own, and its certificate as DER."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + _LIFE)
        .sign(key, hashes.SHA256())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    # The standard library reads keys from files only: this one is there for as long as it is read, for us alone.
    with tempfile.TemporaryDirectory(prefix="pondage-tls-") as folder:
        path = Path(folder) / "key.pem"
        path.touch(mode=0o600)
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        path.write_bytes(secret + made.public_bytes(Encoding.PEM))
        context.load_cert_chain(path)
    return context, made.public_bytes(Encoding.DER)
