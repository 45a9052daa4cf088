package run

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"time"
)

const certificateDays = 30

// LoadCertificate returns the certificate of a file. If there is none, or an expired one, it creates one for a host and
// for this machine, which is its own authority, and stores it with its key. An empty host adds none.
func LoadCertificate(file, host string, now time.Time) (tls.Certificate, error) {
	certificate, err := tls.LoadX509KeyPair(file, file)
	if err == nil && now.Before(certificate.Leaf.NotAfter.AddDate(0, 0, -1)) {
		return certificate, nil
	}

	if err == nil || errors.Is(err, fs.ErrNotExist) {
		certificate, err = createCertificate(file, host, now)
	}
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate %s: %w", file, err)
	}

	return certificate, nil
}

// createCertificate signs a certificate with its own key, and stores both.
func createCertificate(file, host string, now time.Time) (tls.Certificate, error) {
	certificate, err := signCertificate(host, now)
	if err != nil {
		return certificate, err
	}

	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		return certificate, err
	}

	content := append(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
	return certificate, os.WriteFile(file, content, 0o600)
}

func signCertificate(host string, now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}

	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, err
	}

	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "callboard"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(0, 0, certificateDays),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}

	// The host is an address or a name.
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = append(template.IPAddresses, ip)
	} else if host != "" {
		template.DNSNames = append(template.DNSNames, host)
	}

	// The certificate is its own authority, so a client needs only this file.
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key}, err
}
