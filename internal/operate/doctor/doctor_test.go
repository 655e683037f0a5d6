package doctor_test

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/operate/doctor"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/test/testkit"
)

const host = "git.example.org"

// patient is a relay, with a web server in front, that has every ailment that a test gives it.
type patient struct {
	notFor    string        // the host that its certificate is for, if not the right one
	expires   time.Duration // from now
	lasts     time.Duration // from its beginning until it expires; 0 is a year
	stranger  bool          // the certificate is signed by nobody who is trusted
	clock     time.Duration
	noSocket  bool
	noGit     int // the status with which the web server answers git itself
	mostBody  int64
	believes  bool // what a client says of its address
	sees      string
	refuses   string // the reason for refusing announcements
	keeps     bool   // it refuses deletions
	down      bool   // the web server does not reach graspd
	noHosting bool
	private   bool // subscriptions are refused
	grasp08   bool // it says that it is private
	shut      bool // and git is refused

	published []string
}

func (p *patient) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Date", time.Now().Add(p.clock).UTC().Format(http.TimeFormat))
	h.Set("Access-Control-Allow-Origin", "*")
	if p.mostBody > 0 && r.ContentLength > p.mostBody {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	switch {
	case p.down:
		w.WriteHeader(http.StatusBadGateway)
	case r.URL.Path == front.AddressPath:
		seen := p.sees
		if said := r.Header.Get("X-Forwarded-For"); said != "" && p.believes {
			seen = said
		}
		fmt.Fprintln(w, seen)
	case strings.Contains(r.URL.Path, ".git/"):
		io.Copy(io.Discard, r.Body)
		if p.shut {
			h.Set("WWW-Authenticate", `Nostr method="GET"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if p.noGit != 0 {
			h.Del("Access-Control-Allow-Origin")
			w.WriteHeader(p.noGit)
			fmt.Fprint(w, "<html>welcome to nginx")
			return
		}
		w.WriteHeader(http.StatusNotFound)
	case r.Header.Get("Upgrade") != "" && !p.noSocket:
		p.socket(w, r)
	case strings.HasPrefix(r.Header.Get("Accept"), "application/nostr+json"):
		h.Set("Content-Type", "application/nostr+json")
		grasps := `"GRASP-01"`
		if p.noHosting {
			grasps = ""
		}
		if p.grasp08 {
			grasps += `,"GRASP-08"`
		}
		fmt.Fprintf(w, `{"name":"a relay","software":"graspd","version":"1","supported_grasps":[%s],"limitation":{"restricted_writes":true}}`, grasps) // as every relay for repositories alone
	default:
		fmt.Fprint(w, "a page")
	}
}

func (p *patient) socket(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer c.CloseNow()
	say := func(text string) { c.Write(r.Context(), websocket.MessageText, []byte(text)) }
	say(`["AUTH","challenge"]`)
	for {
		_, b, err := c.Read(r.Context())
		if err != nil {
			return
		}
		switch m, err := nostr.ParseClient(b); m := m.(type) {
		case nostr.Req:
			if p.private {
				say(`["CLOSED","doctor","auth-required: members only"]`)
			} else {
				say(`["EOSE","doctor"]`)
			}
		case nostr.EventMsg:
			p.published = append(p.published, string(b))
			ok, why := true, ""
			if p.refuses != "" && m.Event.Kind != nostr.KindDeletion || p.keeps && m.Event.Kind == nostr.KindDeletion {
				ok, why = false, p.refuses+"blocked"
			}
			say(fmt.Sprintf(`["OK","%s",%v,%q]`, m.Event.ID, ok, why))
		default:
			say(fmt.Sprintf(`["NOTICE","what? %v"]`, err))
		}
	}
}

// examined starts the patient and returns what the doctor found, by what it is about.
func examined(t *testing.T, p *patient, change func(*doctor.Config)) (map[string]doctor.Finding, doctor.Level) {
	t.Helper()
	if p.expires == 0 {
		p.expires = 60 * 24 * time.Hour
	}
	if p.sees == "" {
		p.sees = "198.51.100.9"
	}
	name := host
	if p.notFor != "" {
		name = p.notFor
	}
	cert, roots := certificate(t, name, time.Now().Add(p.expires), cmp.Or(p.lasts, 365*24*time.Hour))
	s := httptest.NewUnstartedServer(p)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.Config.ErrorLog = nil
	s.StartTLS()
	defer s.Close()
	if p.stranger {
		roots = x509.NewCertPool()
	}
	service, err := grasp.ParseService(host)
	if err != nil {
		t.Fatal(err)
	}
	c := doctor.Config{
		URL: "https://" + host, Domain: service, Git: true, Publish: true, TLS: &tls.Config{RootCAs: roots}, Now: time.Now, Key: testkit.Key(7),
		Resolve: func(_ context.Context, name string) ([]netip.Addr, error) {
			if name != host {
				return nil, errors.New("no such host")
			}
			return []netip.Addr{netip.MustParseAddr("203.0.113.5")}, nil
		},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address != "203.0.113.5:443" {
				return nil, fmt.Errorf("dialed %s", address)
			}
			return new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
		},
	}
	if change != nil {
		change(&c)
	}
	found := make(map[string]doctor.Finding)
	worst, err := doctor.Examine(t.Context(), c, func(f doctor.Finding) {
		if _, twice := found[f.What]; twice {
			t.Errorf("%s is told twice", f.What)
		}
		found[f.What] = f
	})
	if err != nil {
		t.Fatal(err)
	}
	return found, worst
}

// certificate is one for a name, signed by itself.
func certificate(t *testing.T, name string, until time.Time, lasts time.Duration) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: until.Add(-lasts), NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// TestAHealthyRelay: everything is looked at and is well; the test announcement is withdrawn.
func TestAHealthyRelay(t *testing.T) {
	p := new(patient)
	found, worst := examined(t, p, nil)
	for _, what := range []string{"name", "certificate", "relay", "clock", "domain", "address", "websocket", "git", "pushes", "announcement"} {
		if f, ok := found[what]; !ok || f.Level != doctor.Fine {
			t.Errorf("%s: %+v", what, f)
		}
	}
	if worst != doctor.Fine || len(found) != 10 {
		t.Errorf("%v %v", worst, found)
	}
	if len(p.published) != 2 || !strings.Contains(p.published[0], `"kind":30617`) || !strings.Contains(p.published[1], `"kind":5,`) ||
		!strings.Contains(p.published[0], `"wss://git.example.org"`) || !strings.Contains(p.published[0], `["expiration","`) || !strings.Contains(p.published[1], `["expiration","`) {
		t.Errorf("published %s", p.published)
	}
}

// TestAHealthyPrivateRelay: that it refuses strangers is as it should be.
func TestAHealthyPrivateRelay(t *testing.T) {
	found, worst := examined(t, &patient{private: true, grasp08: true, shut: true, refuses: "auth-required: "}, nil)
	for _, what := range []string{"websocket", "git", "pushes", "announcement"} {
		if f, ok := found[what]; !ok || f.Level != doctor.Fine {
			t.Errorf("%s: %+v", what, f)
		}
	}
	if worst != doctor.Fine {
		t.Errorf("%v %v", worst, found)
	}
}

// TestAilments: each is found, told at its level with what to do, and what cannot be looked at behind it is not.
func TestAilments(t *testing.T) {
	for name, c := range map[string]struct {
		p      patient
		change func(*doctor.Config)
		what   string
		level  doctor.Level
		says   string // in the text or in what to do
		last   bool   // nothing else is looked at
	}{
		"no name":             {change: func(c *doctor.Config) { c.URL = "https://other.example.org" }, what: "name", level: doctor.Fault, says: "DNS record", last: true},
		"private name":        {change: resolves("10.0.0.1"), what: "name", level: doctor.Warning, says: "git.example.org is 10.0.0.1: nobody outside"},
		"partly private name": {change: resolves("203.0.113.5", "10.0.0.1"), what: "name", level: doctor.Warning, says: "some of these are private"},
		"nothing there":       {change: func(c *doctor.Config) { c.Dial = refuse }, what: "connection", level: doctor.Fault, says: "firewall", last: true},
		"no TLS":              {change: func(c *doctor.Config) { c.Dial = plain(c.Dial) }, what: "certificate", level: doctor.Fault, says: "does not speak TLS", last: true},
		"expired":             {p: patient{expires: -time.Hour}, what: "certificate", level: doctor.Fault, says: "it expired on", last: true},
		"not yet valid":       {p: patient{expires: 400 * 24 * time.Hour}, what: "certificate", level: doctor.Fault, says: "clock of this machine", last: true},
		"expires soon":        {p: patient{expires: 5*24*time.Hour + time.Hour}, what: "certificate", level: doctor.Warning, says: "5 days more only"},
		"expires within days": {p: patient{expires: 2*24*time.Hour + time.Hour, lasts: 6 * 24 * time.Hour}, what: "certificate", level: doctor.Fine, says: "2 days more"},
		"expires in hours":    {p: patient{expires: 25*time.Hour + time.Minute, lasts: 6 * 24 * time.Hour}, what: "certificate", level: doctor.Warning, says: "25 hours more only"},
		"expires in an hour":  {p: patient{expires: time.Hour + time.Minute, lasts: 12 * time.Hour}, what: "certificate", level: doctor.Warning, says: "1 hour more only"},
		"for another name":    {p: patient{notFor: "www.example.org"}, what: "certificate", level: doctor.Fault, says: "for www.example.org, not for", last: true},
		"untrusted":           {p: patient{stranger: true}, what: "certificate", level: doctor.Fault, says: "fullchain", last: true},
		"bad gateway":         {p: patient{down: true}, what: "relay", level: doctor.Fault, says: "does not reach graspd", last: true},
		"clock a minute off":  {p: patient{clock: -3 * time.Minute}, what: "clock", level: doctor.Warning, says: "timedatectl"},
		"clock an hour off":   {p: patient{clock: time.Hour}, what: "clock", level: doctor.Fault, says: "timedatectl"},
		"other domain":        {change: domain("relay.example.org"), what: "domain", level: doctor.Fault, says: "--domain git.example.org"},
		"unknown domain":      {change: func(c *doctor.Config) { c.Domain = grasp.Service{} }, what: "domain", level: doctor.Skipped, says: "not known"},
		"believes everybody":  {p: patient{believes: true}, what: "address", level: doctor.Fault, says: "X-Forwarded-For $remote_addr"},
		"sees the proxy":      {p: patient{sees: "10.1.1.1"}, change: from("192.0.2.1"), what: "address", level: doctor.Fault, says: "--trusted-proxies 10.1.1.1"},
		"sees loopback":       {p: patient{sees: "127.0.0.1"}, what: "address", level: doctor.Warning, says: "graspd doctor on another machine"},
		"sees nothing":        {p: patient{sees: "nobody"}, what: "address", level: doctor.Skipped},
		"no upgrade":          {p: patient{noSocket: true}, what: "websocket", level: doctor.Fault, says: "Upgrade $http_upgrade"},
		"members only":        {p: patient{private: true}, what: "websocket", level: doctor.Warning, says: "members only"},
		"private, and reads":  {p: patient{grasp08: true, shut: true, refuses: "auth-required: "}, what: "websocket", level: doctor.Fault, says: "--private"},
		"private, and clones": {p: patient{grasp08: true, private: true, refuses: "auth-required: "}, what: "git", level: doctor.Fault, says: "not by a 401"},
		"no git":              {p: patient{noGit: http.StatusOK}, what: "git", level: doctor.Fault, says: "location /"},
		"no git, no page":     {p: patient{noGit: http.StatusNotFound}, what: "git", level: doctor.Fault, says: "location /"},
		"no hosting":          {p: patient{noHosting: true}, what: "git", level: doctor.Warning, says: "--git=false"},
		"small bodies":        {p: patient{mostBody: 1 << 20}, what: "pushes", level: doctor.Fault, says: "client_max_body_size 0"},
		"refuses":             {p: patient{refuses: "blocked: not in the relays tag of the announcement"}, what: "announcement", level: doctor.Fault, says: "--domain git.example.org"},
		"takes some alone":    {p: patient{refuses: "blocked: the author is not on the list: "}, what: "announcement", level: doctor.Warning, says: "lists of this relay"},
		"does not withdraw":   {p: patient{keeps: true}, what: "announcement", level: doctor.Warning, says: "lapses by itself"},
	} {
		t.Run(name, func(t *testing.T) {
			found, worst := examined(t, &c.p, c.change)
			f, ok := found[c.what]
			if !ok || f.Level != c.level || !strings.Contains(f.Text+"\n"+f.Mend, c.says) {
				t.Errorf("%s: %+v", c.what, f)
			}
			for what, other := range found {
				if what != c.what && other.Level == doctor.Fault {
					t.Errorf("%s, too: %+v", what, other)
				}
			}
			if worst < c.level || c.level == doctor.Fault && f.Mend == "" && c.says != "does not speak TLS" {
				t.Errorf("worst is %v; to do: %q", worst, f.Mend)
			}
			if _, on := found["announcement"]; c.last && on {
				t.Error("it goes on")
			}
		})
	}
}

func resolves(addrs ...string) func(*doctor.Config) {
	return func(c *doctor.Config) {
		dial := c.Dial
		c.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dial(ctx, network, "203.0.113.5:443")
		}
		c.Resolve = func(context.Context, string) (out []netip.Addr, _ error) {
			for _, a := range addrs {
				out = append(out, netip.MustParseAddr(a))
			}
			return out, nil
		}
	}
}

func refuse(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("connection refused")
}

// plain leads to a server that does not speak TLS.
func plain(func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			go io.Copy(io.Discard, there)
			there.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			there.Close()
		}()
		return here, nil
	}
}

func domain(name string) func(*doctor.Config) {
	return func(c *doctor.Config) { c.Domain, _ = grasp.ParseService(name) }
}

// from makes connections that seem to come from an address.
func from(addr string) func(*doctor.Config) {
	return func(c *doctor.Config) {
		dial := c.Dial
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return &elsewhere{conn, net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(addr), 1))}, err
		}
	}
}

type elsewhere struct {
	net.Conn
	local net.Addr
}

func (e *elsewhere) LocalAddr() net.Addr { return e.local }

// TestWhatIsNoURL is refused before anything is looked up.
func TestWhatIsNoURL(t *testing.T) {
	for _, raw := range []string{"", "ftp://git.example.org", "https://", "https://user@git.example.org", "https://git.example.org/?x=1", "https://git .example.org", "::"} {
		_, err := doctor.Examine(t.Context(), doctor.Config{URL: raw, Now: time.Now}, func(f doctor.Finding) { t.Errorf("%q: %+v", raw, f) })
		if err == nil {
			t.Errorf("%q is taken", raw)
		}
	}
}

// TestTheDoctorEndsWithItsContext, whatever the relay does.
func TestTheDoctorEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := doctor.Examine(ctx, doctor.Config{URL: host, Now: time.Now, Key: testkit.Key(1),
		Resolve: func(ctx context.Context, _ string) ([]netip.Addr, error) { <-ctx.Done(); return nil, ctx.Err() }, Dial: refuse}, func(doctor.Finding) {})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
