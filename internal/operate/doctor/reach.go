package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/safetext"
)

// name looks up the host.
func (x *examination) name(ctx context.Context) bool {
	host := x.at.Hostname()
	addrs, err := x.addresses(ctx, host)
	if err != nil {
		x.say("name", Fault, fmt.Sprintf("%s cannot be looked up: %v", host, err),
			fmt.Sprintf("Add a DNS record where you manage the domain:\n  %s.  A  <the server's IPv4 address>", host))
		return false
	}
	texts, private := make([]string, len(addrs)), 0
	for i, a := range addrs {
		texts[i] = a.String()
		if a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsUnspecified() {
			private++
		}
	}
	all := strings.Join(texts, ", ")
	at := host + " is " + all
	if host == all {
		at = host
	}
	switch {
	case private == len(addrs):
		x.say("name", Warning, at+": nobody outside this machine or network gets there",
			"That is right for a trial. For the world, point the name at a public address.")
	case private > 0:
		x.say("name", Warning, at+", and some of these are private: those who get one of these do not get there",
			"Remove the private addresses from the DNS of this name.")
	default:
		x.fine("name", "%s", at)
	}
	return true
}

// connection connects, and looks at the certificate.
func (x *examination) connection(ctx context.Context) bool {
	secure := x.at.Scheme == "https"
	port := x.at.Port()
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[secure]
	}
	conn, err := x.dial(ctx, "tcp", net.JoinHostPort(x.at.Hostname(), port))
	if err != nil {
		x.say("connection", Fault, fmt.Sprintf("nothing answers at port %s: %v", port, err),
			fmt.Sprintf("Is the web server running, and does the firewall let port %s in?", port))
		return false
	}
	defer conn.Close()
	if !secure {
		x.say("certificate", Warning, "there is none: clients reach the relay without encryption", "Put a web server with a certificate in front of it; deploy/Caddyfile and deploy/nginx.conf are two.")
		return true
	}
	// The certificate is checked below, and not in the handshake, so that the finding can say what is wrong with it.
	config := x.tls()
	roots := config.RootCAs
	config.InsecureSkipVerify = true
	client := tls.Client(conn, config)
	if err := client.HandshakeContext(ctx); err != nil {
		x.say("certificate", Fault, fmt.Sprintf("port %s does not speak TLS: %v", port, err), "Is it a web server with a certificate that listens there? See deploy/Caddyfile and deploy/nginx.conf.")
		return false
	}
	chain := client.ConnectionState().PeerCertificates
	leaf := chain[0]
	among := x509.NewCertPool()
	for _, c := range chain[1:] {
		among.AddCert(c)
	}
	now := x.Now()
	_, err = leaf.Verify(x509.VerifyOptions{DNSName: x.at.Hostname(), Roots: roots, Intermediates: among, CurrentTime: now})
	left := leaf.NotAfter.Sub(now)
	renew := fmt.Sprintf("Renew it, for example:\n  certbot renew --cert-name %s\nCaddy renews by itself; its log says why it did not.", x.at.Hostname())
	var other x509.HostnameError
	var unknown x509.UnknownAuthorityError
	switch {
	case now.After(leaf.NotAfter):
		x.say("certificate", Fault, fmt.Sprintf("it expired on %s", leaf.NotAfter.UTC().Format(time.DateOnly)), renew)
		return false
	case now.Before(leaf.NotBefore):
		x.say("certificate", Fault, fmt.Sprintf("it is valid only from %s on: is the clock of this machine right?", leaf.NotBefore.UTC().Format(time.DateTime)), "timedatectl set-ntp true")
		return false
	case errors.As(err, &other):
		x.say("certificate", Fault, fmt.Sprintf("it is for %s, not for %s", strings.Join(leaf.DNSNames, ", "), x.at.Hostname()),
			fmt.Sprintf("Get one for this name, for example:\n  certbot certonly -d %s", x.at.Hostname()))
		return false
	case errors.As(err, &unknown):
		x.say("certificate", Fault, "it is signed by nobody whom clients trust, or the server does not send the certificates in between",
			"nginx: name fullchain.pem, not cert.pem, in ssl_certificate.")
		return false
	case err != nil:
		x.say("certificate", Fault, fmt.Sprintf("clients refuse it: %v", err), renew)
		return false
	case left < min(soon, leaf.NotAfter.Sub(leaf.NotBefore)/4): // one that is made for a few days is renewed later than one of 90 days
		x.say("certificate", Warning, fmt.Sprintf("it is valid for %s more only", daysOrHours(left)), renew)
	default:
		x.fine("certificate", "valid for %s more", daysOrHours(left))
	}
	return true
}

// daysOrHours writes a duration in days, and below two days in hours.
func daysOrHours(d time.Duration) string {
	if hours := int(d.Hours()); hours < 48 {
		return safetext.Number(hours, "hour", "hours")
	}
	return safetext.Number(int(d.Hours()/24), "day", "days")
}
