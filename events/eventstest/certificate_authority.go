package eventstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// CertificateAuthority signs certificates of servers and clients on this machine.
type CertificateAuthority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewCertificateAuthority returns an authority with a new self-signed certificate.
func NewCertificateAuthority(tb testing.TB) *CertificateAuthority {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}

	// The authority needs the template before it signs, because the certificate is its own issuer.
	a := &CertificateAuthority{key: key}
	a.certificate = &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}

	signed := a.sign(tb, a.certificate, key)
	if a.certificate, err = x509.ParseCertificate(signed); err != nil {
		tb.Fatal(err)
	}

	return a
}

// PEM is the authority's certificate.
func (a *CertificateAuthority) PEM() []byte { return encodePEM("CERTIFICATE", a.certificate.Raw) }

// KeyPair returns a certificate for host names with its private key. Without a name it is for 127.0.0.1.
func (a *CertificateAuthority) KeyPair(tb testing.TB, hosts ...string) tls.Certificate {
	tb.Helper()
	pair, err := tls.X509KeyPair(a.Issue(tb, hosts...))
	if err != nil {
		tb.Fatal(err)
	}
	return pair
}

// Issue returns a certificate for host names and its private key, in PEM. Without a name it is for 127.0.0.1.
func (a *CertificateAuthority) Issue(tb testing.TB, hosts ...string) (certificate, key []byte) {
	tb.Helper()
	var addresses []net.IP
	if len(hosts) == 0 {
		addresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}

	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}

	signed := a.sign(tb, &x509.Certificate{
		Subject:     pkix.Name{CommonName: "test"},
		DNSNames:    hosts,
		IPAddresses: addresses,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, private)

	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		tb.Fatal(err)
	}
	return encodePEM("CERTIFICATE", signed), encodePEM("PRIVATE KEY", encoded)
}

// sign returns a certificate of the key, valid for a day around now.
func (a *CertificateAuthority) sign(tb testing.TB, template *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	tb.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		tb.Fatal(err)
	}

	template.SerialNumber = serial
	template.NotBefore, template.NotAfter = time.Now().Add(-12*time.Hour), time.Now().Add(12*time.Hour)

	signed, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		tb.Fatal(err)
	}
	return signed
}

func encodePEM(kind string, content []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
}
