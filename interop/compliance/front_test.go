package compliance

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// behind starts graspd behind a web server with a certificate, as README.md has it, and returns the name by which people know it, and the file with
// the authority that their programs have to trust. An address of this machine has a certificate on the usual port alone.
func behind(t *testing.T) (host, trusted string) {
	t.Helper()
	host = "127.0.0.11"
	l, err := net.Listen("tcp", host+":443")
	if err != nil {
		t.Skip("the web server wants port 443: ", err)
	}
	var at atomic.Pointer[url.URL]
	front := httptest.NewUnstartedServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(at.Load())
		r.SetXForwarded()
		r.Out.Host = r.In.Host
	}})
	authority, own := certificates(t)
	front.Listener.Close()
	front.Listener = l
	front.TLS = &tls.Config{Certificates: []tls.Certificate{own}, NextProtos: []string{"http/1.1"}}
	front.StartTLS()
	t.Cleanup(front.Close)
	at.Store(&url.URL{Scheme: "http", Host: serve(t, "--domain", host+":443", "--trusted-proxies", "127.0.0.1")})
	trusted = filepath.Join(t.TempDir(), "trusted.pem")
	if err := os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority}), 0o600); err != nil {
		t.Fatal(err)
	}
	return host, trusted
}

// certificates makes that of an authority, and one of the web server by it: strict clients take no authority for a server.
func certificates(t *testing.T) (authority []byte, server tls.Certificate) {
	t.Helper()
	at := time.Now()
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: at.Add(-time.Hour), NotAfter: at.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server"}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		IPAddresses: []net.IP{net.ParseIP("127.0.0.11")}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if authority, err = x509.CreateCertificate(rand.Reader, ca, ca, signer.Public(), signer); err != nil {
		t.Fatal(err)
	}
	own, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	return authority, tls.Certificate{Certificate: [][]byte{own}, PrivateKey: key}
}

// page returns the page at a URL behind such a web server.
func page(t *testing.T, url string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != 200 {
		t.Fatalf("%s: %s, %v\n%s", url, a.Status, err, b)
	}
	return string(b)
}
