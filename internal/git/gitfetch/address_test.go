package gitfetch_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/protocol/grasp"
)

// spellings are URLs of what is not the public network, and whether the rule says so or they are no addresses at all.
var spellings = map[string]bool{
	"http://127.0.0.1/r.git": true, "http://10.0.0.1:8080/r.git": true, "https://[::1]/r.git": true, "http://[::ffff:10.0.0.1]/r.git": true,
	"http://[::ffff:8.8.8.8]/r.git": true, "http://[64:ff9b::a00:1]/r.git": true, "http://[2002:a00:1::1]/r.git": true, "http://169.254.169.254/r.git": true,
	"http://0.0.0.0/r.git": true, "http://[fe80::1%25eth0]/r.git": true, "http://inside.example/r.git": true, "http://mapped.example/r.git": true,
	"http://nat64.example/r.git": true, "http://1.1.1.1:22/r.git": true, "http://git.example:25/r.git": true,
	"http://2130706433/r.git": false, "http://0177.0.0.1/r.git": false, "http://0x7f000001/r.git": false, "http://0x7f.1/r.git": false, "http://127.1/r.git": false,
	"http://127.0.0.1./r.git": false, "http://user:secret@git.example/r.git": false, "http://user@git.example/r.git": false, "http://x.onion/r.git": false,
	"http://git.example:0/r.git": false, "http://①②⑦.0.0.1/r.git": false,
}

func inside(n *network) {
	n.names["inside.example"], n.names["mapped.example"], n.names["nat64.example"] = []string{"10.0.0.1"}, []string{"::ffff:10.0.0.1"}, []string{"64:ff9b::a00:1"}
}

// refusedAs requires the error of a URL to which nothing is opened.
func refusedAs(t *testing.T, u string, forbidden bool, err error) {
	t.Helper()
	_, is := errors.AsType[*gitfetch.ProtocolError](err)
	if errors.Is(err, publicnet.ErrForbidden) != forbidden || is == forbidden || strings.Contains(err.Error(), "secret") && !strings.Contains(u, "secret") {
		t.Errorf("%s: %v", u, err)
	}
}

// TestNoWayIn: no URL, however it is written, and no redirect leads into another network than the public one.
func TestNoWayIn(t *testing.T) {
	for u, forbidden := range spellings {
		synctest.Test(t, func(t *testing.T) {
			n := one(t, "")
			inside(n)
			_, err := n.client(gitfetch.Bounds{}).Advertised(t.Context(), gitfetch.Request{URL: u})
			refusedAs(t, u, forbidden, err)
			if dialed, _ := n.seen(); len(dialed) > 0 {
				t.Errorf("%s: dialed %q", u, dialed)
			}
		})
		synctest.Test(t, func(t *testing.T) {
			n := one(t, "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: "+u+"/info/refs?service=git-upload-pack\r\n\r\n")
			inside(n)
			_, err := n.client(gitfetch.Bounds{}).Advertised(t.Context(), gitfetch.Request{URL: url})
			refusedAs(t, "a redirect to "+u, forbidden, err)
			if dialed, asked := n.seen(); len(dialed) != 1 || len(asked) != 1 {
				t.Errorf("a redirect to %s: dialed %q", u, dialed)
			}
		})
	}
}

// TestURLsThatAreNone of a repository over HTTP.
func TestURLsThatAreNone(t *testing.T) {
	for _, u := range []string{
		"", "git://git.example/r.git", "ssh://git.example/r.git", "file:///etc", "git.example/r.git", "http://", "http:///r.git", "http://git.example/r.git?x=y", "http://git.example/r.git?",
		"http://git.example/r.git#x", "http://git.example/r.git#", "http://git.example/\x00", "http://git.example/a\nb", "http://[::1", "http://git.example/%zz", "ext::sh -c x", "//git.example/r.git",
		"wss://git.example", "nostr://x",
	} {
		synctest.Test(t, func(t *testing.T) {
			n := one(t, offers2)
			_, err := n.client(gitfetch.Bounds{}).Advertised(t.Context(), gitfetch.Request{URL: u})
			refusedAs(t, u, false, err)
			if dialed, _ := n.seen(); len(dialed) > 0 {
				t.Errorf("%s: dialed %q", u, dialed)
			}
		})
	}
}

// TestEveryConnectionIsChecked: a name that resolves to something else for the second connection leads nowhere.
func TestEveryConnectionIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := one(t, strings.Replace(offers2, "\r\n", "\r\nConnection: close\r\n", 1))
		s := n.hosts["1.1.1.1:80"]
		n.hosts["1.1.1.1:80"] = func(c io.Writer, q *http.Request) bool {
			n.mu.Lock()
			n.names["git.example"] = []string{"10.0.0.1"}
			n.mu.Unlock()
			s(c, q)
			return false
		}
		n.hosts["10.0.0.1:80"] = s
		_, err := n.client(gitfetch.Bounds{}).Fetch(t.Context(), wanted(nil, "1"))
		if dialed, _ := n.seen(); !errors.Is(err, publicnet.ErrForbidden) || len(dialed) != 1 {
			t.Errorf("dialed %q, %v", dialed, err)
		}
	})
}

// TestNoProxy of the environment is asked.
func TestNoProxy(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		t.Setenv(name, "http://9.9.9.9:3128")
	}
	synctest.Test(t, func(t *testing.T) {
		n := one(t, offers2, refs2)
		_, err := n.client(gitfetch.Bounds{}).Advertised(t.Context(), gitfetch.Request{URL: url})
		if dialed, _ := n.seen(); err != nil || !slices.Equal(dialed, []string{"1.1.1.1:80"}) {
			t.Errorf("dialed %q, %v", dialed, err)
		}
	})
}

// implied is the URL of a repository on a bootstrap relay at a private address.
const implied = "http://10.0.0.1:3000/npub1a/r.git"

// TestWhatTheOperatorImplies is free of the rule, letter by letter, and nothing else on that host is, wherever a redirect comes from.
func TestWhatTheOperatorImplies(t *testing.T) {
	moved := func(to string) string {
		return "HTTP/1.1 301 Moved\r\nLocation: " + to + "/info/refs?service=git-upload-pack\r\n\r\n"
	}
	asked := func(t *testing.T, u string, answers ...string) ([]string, error) {
		n := one(t, moved(implied))
		for _, addr := range []string{"10.0.0.1:3000", "10.0.0.1:3001", "10.0.0.1:80", "10.0.0.1:443"} {
			n.hosts[addr] = func(c io.Writer, _ *http.Request) bool {
				answer := answers[0]
				answers = append(answers[1:], offers2, refs2)
				_, err := io.WriteString(c, answer)
				return err == nil
			}
		}
		_, err := n.client(gitfetch.Bounds{}).Advertised(t.Context(), gitfetch.Request{URL: u, Exempt: []grasp.Source{implied, "http://10.0.0.1:3001/npub1a/r.git"}})
		_, list := n.seen()
		return list, err
	}
	synctest.Test(t, func(t *testing.T) {
		if _, err := asked(t, implied, offers2, refs2); err != nil {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		if _, err := asked(t, implied, moved("http://10.0.0.1:3001/npub1a/r.git"), offers2, refs2); err != nil {
			t.Errorf("a redirect to another that is implied: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		if list, err := asked(t, url); !errors.Is(err, publicnet.ErrForbidden) || len(list) != 1 {
			t.Errorf("a redirect of a stranger: asked %q, %v", list, err)
		}
	})
	for _, u := range []string{
		"http://10.0.0.1:3000/npub1b/r.git", "http://10.0.0.1:3000/npub1a/s.git", "http://10.0.0.1:3000/internal/admin", "http://10.0.0.1:3000/npub1a/r.git/x", "http://10.0.0.1:3000/npub1a/r",
		"http://10.0.0.1:3000/x/../npub1a/r.git", "http://10.0.0.1:3000//npub1a/r.git", "http://10.0.0.1:3000/npub1a//r.git", "http://10.0.0.1:3000/./npub1a/r.git", "http://10.0.0.1:3000/npub1a/../npub1b/y.git",
		"http://10.0.0.1:3000/npub1a/%72.git", "http://10.0.0.1:3000/npub1a%2Fr.git", "http://10.0.0.1:3000/NPUB1A/r.git", "http://10.0.0.1:3000/npub1a/R.git", "http://10.0.0.1:3000/npub1a/r.git;x", "http://10.0.0.1:3000/",
		"http://10.0.0.1/npub1a/r.git", "http://10.0.0.1:443/npub1a/r.git", "http://10.0.0.1:03000/npub1a/r.git", "https://10.0.0.1:3000/npub1a/r.git",
	} {
		synctest.Test(t, func(t *testing.T) {
			if list, err := asked(t, u, offers2, refs2); !errors.Is(err, publicnet.ErrForbidden) || len(list) > 0 {
				t.Errorf("%s: asked %q, %v", u, list, err)
			}
		})
		synctest.Test(t, func(t *testing.T) {
			if strings.Contains(u, "/../") || strings.Contains(u, "/./") { // a relative part of a redirect is resolved, as RFC 3986 says
				return
			}
			if list, err := asked(t, implied, moved(u)); !errors.Is(err, publicnet.ErrForbidden) && !strings.Contains(err.Error(), "another scheme") && err != nil || len(list) != 1 {
				t.Errorf("a redirect to %s: asked %q, %v", u, list, err)
			}
		})
	}
}

// TestRedirects are followed as git does: thrice, to the refs of another repository, and what follows is asked there.
func TestRedirects(t *testing.T) {
	const query = "/info/refs?service=git-upload-pack"
	to := func(u string) string {
		return "HTTP/1.1 301 Moved\r\nContent-Length: 4\r\nSet-Cookie: a=b\r\nLocation: " + u + "\r\n\r\ngone"
	}
	for _, tt := range []struct {
		name    string
		answers []string
		asked   []string
		want    string // of the error
	}{
		{"to another path", []string{to("/new.git" + query), offers2, refs2}, []string{"GET git.example /r.git" + query, "GET git.example /new.git" + query, "POST git.example /new.git/git-upload-pack"}, ""},
		{"to another host", []string{to("http://other.example/a/b" + query), offers2, refs2}, []string{"GET git.example /r.git" + query, "GET other.example /a/b" + query, "POST other.example /a/b/git-upload-pack"}, ""},
		{"three times", []string{to("/1" + query), to("/2" + query), to("/3" + query + "#x"), offers0}, []string{"GET git.example /r.git" + query, "GET git.example /1" + query, "GET git.example /2" + query, "GET git.example /3" + query}, ""},
		{"four times", []string{to("/1" + query), to("/2" + query), to("/3" + query), to("/4" + query), offers0}, nil, "more than 3"},
		{"in a circle", []string{to("/r.git" + query)}, nil, "more than 3"},
		{"to a page", []string{to("/login")}, nil, "not info/refs"},
		{"to the dumb protocol", []string{to("/r.git/info/refs")}, nil, "not info/refs"},
		{"to another service", []string{to("/r.git/info/refs?service=git-receive-pack")}, nil, "not info/refs"},
		{"with more in the query", []string{to("/r.git" + query + "&x=y")}, nil, "not info/refs"},
		{"to a query before it", []string{to("/x?q=" + query), offers0}, []string{"GET git.example /r.git" + query}, "not info/refs"},
		{"to a file", []string{to("file:///etc" + query)}, nil, "another scheme"},
		{"to another protocol", []string{to("gopher://git.example" + query)}, nil, "another scheme"},
		{"to no URL", []string{to("http://[::1" + query)}, nil, "no URL"},
		{"of the refs of version 2", []string{offers2, to("/new.git/git-upload-pack")}, []string{"GET git.example /r.git" + query, "POST git.example /r.git/git-upload-pack"}, "HTTP 301"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := one(t, tt.answers...)
				n.names["other.example"], n.hosts["2.2.2.2:80"] = []string{"2.2.2.2"}, n.hosts["1.1.1.1:80"]
				_, err := n.client(gitfetch.Bounds{}).Advertised(t.Context(), gitfetch.Request{URL: url})
				if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Error(err)
				}
				if _, asked := n.seen(); tt.asked != nil && !slices.Equal(asked, tt.asked) {
					t.Errorf("asked %q", asked)
				}
			})
		})
	}
}

// TestARedirectToASaferScheme is followed.
func TestARedirectToASaferScheme(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := one(t, "HTTP/1.1 308 Moved\r\nLocation: https://git.example/r.git/info/refs?service=git-upload-pack\r\n\r\n")
		hello := make(chan byte, 1)
		n.raw = map[string]func(net.Conn){"1.1.1.1:443": func(c net.Conn) {
			defer c.Close()
			b := []byte{0}
			io.ReadFull(c, b)
			hello <- b[0]
		}}
		_, err := n.client(gitfetch.Bounds{}).Advertised(t.Context(), gitfetch.Request{URL: url})
		if dialed, _ := n.seen(); err == nil || !slices.Equal(dialed, []string{"1.1.1.1:80", "1.1.1.1:443"}) || <-hello != 0x16 {
			t.Errorf("dialed %q, %v", dialed, err)
		}
	})
}
