package relayconn_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/sync/relayconn"
)

// certificate makes a self-signed one for the names, valid for an hour from now.
func certificate(t *testing.T, names ...string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "relay"}, DNSNames: names, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestTLSIsVerified(t *testing.T) {
	for _, tt := range []struct {
		name    string
		names   []string
		trusted bool
		later   time.Duration
		max     uint16
		ok      bool
		url     grasp.RelayURL
	}{
		{name: "right", names: []string{"relay.example"}, trusted: true, ok: true},
		{name: "unknown authority", names: []string{"relay.example"}},
		{name: "another host", names: []string{"other.example"}, trusted: true},
		{name: "expired", names: []string{"relay.example"}, trusted: true, later: 2 * time.Hour},
		{name: "old TLS", names: []string{"relay.example"}, trusted: true, max: tls.VersionTLS11},
		{name: "names with escapes", names: strings.Split(strings.Repeat("\x1b[2J.example ", 80)+"x", " "), trusted: true},
		{name: "lifting the address rule lifts nothing here", names: []string{"other.example"}, trusted: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cert, pool := certificate(t, tt.names...)
				n := one(t, func(c net.Conn) {
					config := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS10, MaxVersion: tt.max}
					websocketTo(echo)(tls.Server(c, config))
				})
				cfg := n.config()
				cfg.Net.AllowPrivate = true
				cfg.Net.RootCAs = x509.NewCertPool()
				if tt.trusted {
					cfg.Net.RootCAs = pool
				}
				time.Sleep(tt.later)
				c, err := relayconn.New(cfg).Dial(t.Context(), "wss://relay.example")
				if (err == nil) != tt.ok {
					t.Fatalf("got %v", err)
				}
				if err != nil {
					if s := err.Error(); strings.Contains(s, "\x1b") || len(s) > 300 || !strings.Contains(s, "TLS handshake") {
						t.Errorf("%d bytes: %q", len(s), s)
					}
					return
				}
				if err := c.Write(t.Context(), []byte("x")); err != nil {
					t.Error(err)
				}
				if b, err := c.Read(t.Context()); string(b) != "x" {
					t.Errorf("read %q, %v", b, err)
				}
				if err := c.Close("bye"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
