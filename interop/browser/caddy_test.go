package browser

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// front puts Caddy in front of a relay, as deploy/Caddyfile has it, with a certificate by an authority of its own, and returns that authority. Without
// Caddy people come to the relay itself.
func (s *story) front(relay string) *x509.CertPool {
	s.t.Helper()
	caddy, err := exec.LookPath("caddy")
	if err != nil {
		s.t.Log("without TLS, as there is no caddy")
		return nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	ours, err := os.ReadFile("../../deploy/Caddyfile")
	if err != nil {
		s.t.Fatal(err)
	}
	config := strings.NewReplacer("\nrelay.example.org {", "\nhttps://"+at+" {\n\ttls internal", "127.0.0.1:7334", relay).Replace(string(ours))
	if !strings.Contains(config, "tls internal") || !strings.Contains(config, relay) {
		s.t.Fatalf("deploy/Caddyfile has another form:\n%s", ours)
	}
	dir := s.t.TempDir()
	file := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(file, []byte("{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n}\n"+config), 0o600); err != nil {
		s.t.Fatal(err)
	}
	var log bytes.Buffer
	run := exec.Command(caddy, "run", "--adapter", "caddyfile", "--config", file)
	run.Env, run.Stderr = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir), &log
	if err := run.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
		if s.t.Failed() {
			s.t.Logf("caddy: %s", log.String())
		}
	})
	s.trusted = filepath.Join(dir, "caddy", "pki", "authorities", "local", "root.crt")
	authorities := x509.NewCertPool()
	for end := time.Now().Add(time.Minute); ; <-time.After(50 * time.Millisecond) {
		root, err := os.ReadFile(s.trusted)
		if err == nil && authorities.AppendCertsFromPEM(root) {
			var c *tls.Conn
			if c, err = tls.Dial("tcp", at, &tls.Config{RootCAs: authorities}); err == nil {
				c.Close()
				break
			}
		}
		if time.Now().After(end) {
			_ = run.Process.Kill()
			s.t.Fatalf("caddy does not answer: %v", err)
		}
	}
	s.home = "https://" + at
	return authorities
}
