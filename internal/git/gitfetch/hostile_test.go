package gitfetch_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// TestAnswers are those of git, and close to them.
func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []string
		dials   int
	}{
		{"version 2", []string{offers2, refs2, pack2}, 1},
		{"version 0", []string{offers0, pack0}, 1},
		{"with the name of the service", []string{answer("advertisement", "# service=git-upload-pack\n", "flush", "version 2\n", "ls-refs\n", "fetch\n", "flush"), refs2, pack2}, 1},
		{"lines without newlines", []string{answer("advertisement", "version 2", "ls-refs", "fetch", "flush"), refs2, answer("result", "packfile", "\x01PACK and more", "flush")}, 1},
		{"connections for one answer", []string{strings.Replace(offers2, "\r\n", "\r\nConnection: close\r\n", 1), open("result", hexOf("1")+" refs/heads/main\n", "flush"), pack2}, 3},
		{"acknowledgments that nobody asked for", []string{offers2, refs2, answer("result", "acknowledgments\n", "NAK\n", "delim", "packfile\n", "\x01PACK and more", "flush")}, 1},
		{"an ACK in version 0", []string{offers0, answer("result", "ACK "+hexOf("1")+" common\n", "ACK "+hexOf("1")+"\n", "\x01PACK and more", "flush")}, 1},
		{"in small frames", []string{strings.ReplaceAll(offers0, "side-band-64k", "side-band    "), pack0}, 1},
		{"with interim answers", []string{"HTTP/1.1 103 Early Hints\r\n\r\n" + offers2, refs2, "HTTP/1.1 100 Continue\r\n\r\n" + pack2}, 1},
		{"with a parameter of the type", []string{strings.Replace(offers2, "advertisement", "Advertisement; charset=utf-8", 1), refs2, pack2}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := one(t, tt.answers...)
				n.hosts["1.1.1.1:80"] = closing(n.hosts["1.1.1.1:80"], tt.answers)
				var packs []string
				res, err := n.client(gitfetch.Bounds{}).Fetch(t.Context(), wanted(&packs, "1"))
				dialed, _ := n.seen()
				if err != nil || !slices.Equal(packs, []string{"PACK and more"}) || len(dialed) != tt.dials || res.Requests != len(tt.answers) {
					t.Errorf("packs %q, %d dials, %+v, %v", packs, len(dialed), res, err)
				}
			})
		})
	}
}

// closing hangs up after answers that say so.
func closing(s site, answers []string) site {
	i := 0
	return func(c io.Writer, q *http.Request) bool {
		goes := s(c, q) && !strings.Contains(answers[min(i, len(answers)-1)], "Connection: close")
		i++
		return goes
	}
}

// TestWhatIsNoAnswer of git, or none that is taken.
func TestWhatIsNoAnswer(t *testing.T) {
	plain := func(contentType, body string) string {
		return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: " + contentType + "\r\n\r\n" + body
	}
	advert := func(lines ...string) []string { return []string{answer("advertisement", lines...)} }
	refs := func(lines ...string) []string { return []string{offers2, answer("result", lines...)} }
	pack := func(lines ...string) []string { return []string{offers2, refs2, answer("result", lines...)} }
	for _, tt := range []struct {
		name    string
		answers []string
		want    string // in the text of a ProtocolError
	}{
		{"HTML", []string{plain("text/html", "<html>")}, "no git server"},
		{"nothing", []string{plain("", "")}, "no git server"},
		{"the dumb protocol", []string{plain("text/plain", hexOf("1")+"\trefs/heads/main\n")}, "dumb protocol"},
		{"an answer of another request", []string{answer("result", "flush")}, "no git server"},
		{"HTML instead of refs", []string{offers2, plain("text/html", "<html>")}, "no git server"},
		{"HTML instead of a pack", []string{offers2, refs2, plain("text/html", "<html>")}, "no git server"},
		{"no HTTP", []string{"SSH-2.0-OpenSSH_9.2\r\n"}, "malformed HTTP"},
		{"another protocol", []string{"HTTP/1.1 101 Switching Protocols\r\n\r\n"}, "another protocol"},
		{"gzip", []string{strings.Replace(offers2, "\r\n", "\r\nContent-Encoding: gzip\r\n", 1)}, "'gzip'"},
		{"gzip of a pack", []string{offers2, refs2, strings.Replace(pack2, "\r\n", "\r\nContent-Encoding: x-gzip\r\n", 1)}, "'x-gzip'"},
		{"chunks that are packed", []string{strings.Replace(offers2, "Content-Length", "Transfer-Encoding: gzip\r\nX", 1)}, "transfer encoding"},

		{"another service", advert("# service=git-receive-pack\n", "flush"), "'git-receive-pack'"},
		{"no flush after the service", advert("# service=git-upload-pack\n", "version 2\n"), "no flush"},
		{"no flush at all", advert("version 2\n", "fetch\n"), "cut short"},
		{"a delim among what is offered", advert("version 2\n", "fetch\n", "delim"), "unexpected delim"},
		{"a delim where refs begin", advert("delim"), "unexpected delim"},
		{"no fetches", advert("version 2\n", "ls-refs\n", "flush"), "no fetches"},
		{"no refs", advert("version 2\n", "fetch\n", "flush"), "no refs"},
		{"SHA-256", advert("version 2\n", "fetch\n", "ls-refs\n", "object-format=sha256\n", "flush"), "'sha256'"},
		{"SHA-256 in version 0", advert("# service=git-upload-pack\n", "flush", strings.Repeat("1", 64)+" HEAD\x00object-format=sha256\n", "flush"), "'sha256'"},
		{"ids of SHA-256", refs(strings.Repeat("1", 64)+" refs/heads/main\n", "flush"), "SHA-256"},
		{"it goes on", advert("version 2\n", "fetch\n", "ls-refs\n", "flush", "flush"), "goes on"},
		{"shallow", advert(hexOf("1")+" refs/heads/main\x00side-band-64k\n", "shallow "+hexOf("1")+"\n", "flush"), "is shallow"},
		{"ids in capitals", advert(hexOf("A")+" refs/heads/main\x00\n", "flush"), "no object id"},
		{"ids in capitals, version 2", refs(hexOf("A")+" refs/heads/main\n", "flush"), "no object id"},
		{"a null id", refs(hexOf("0")+" refs/heads/main\n", "flush"), "null id"},
		{"peeled to a null id", refs(hexOf("1")+" refs/tags/v1 peeled:"+hexOf("0")+"\n", "flush"), "null id"},
		{"a line without a name", refs(hexOf("1")+"\n", "flush"), "is no ref"},
		{"a line without a name, version 0", advert(hexOf("1")+"\n", "flush"), "is no ref"},
		{"a ref twice", refs(hexOf("1")+" refs/heads/main\n", hexOf("2")+" refs/heads/main\n", "flush"), "shown twice"},
		{"a bad length", refs("raw:00zz"), "bad line length"},
		{"a length beyond any", refs("raw:fffe"), "bad line length"},
		{"a truncated line", refs("raw:0040" + hexOf("1")), "cut short"},
		{"refs that go on", refs(hexOf("1")+" refs/heads/main\n", "flush", hexOf("1")+" refs/heads/more\n"), "goes on"},

		{"a shallow pack", pack("shallow-info\n", "shallow "+hexOf("1")+"\n", "delim", "packfile\n", "flush"), "'shallow-info'"},
		{"a shallow pack in version 0", []string{offers0, answer("result", "shallow "+hexOf("1")+"\n", "flush", "NAK\n", "\x01PACK", "flush")}, "'shallow "},
		{"a pack that is elsewhere", pack("packfile-uris\n", hexOf("1")+" https://evil.example/x\n", "delim", "packfile\n", "flush"), "'packfile-uris'"},
		{"refs that nobody wanted", pack("wanted-refs\n", hexOf("1")+" refs/heads/main\n", "delim", "packfile\n", "flush"), "'wanted-refs'"},
		{"no pack", pack("flush"), "flush where a pack"},
		{"nothing where a pack was to be", pack(), "cut short"},
		{"acknowledgments without a pack", pack("acknowledgments\n", "NAK\n", "flush"), "flush where a pack"},
		{"acknowledgments without an end", pack("raw:" + frames("acknowledgments\n") + strings.Repeat(frames("NAK\n"), 2000)), "no end of ack"},
		{"acknowledgments without an end, version 0", []string{offers0, answer("result", "raw:"+strings.Repeat(frames("NAK\n"), 2000))}, "no end of ack"},
		{"acknowledgments twice", pack("acknowledgments\n", "delim", "acknowledgments\n", "delim", "packfile\n", "flush"), "'acknowledgments'"},
		{"a band that does not exist", pack("packfile\n", "\x01PACK", "\x04x", "flush"), "no band 4"},
		{"band zero", pack("packfile\n", "\x00x", "flush"), "no band 0"},
		{"no band", pack("packfile\n", "", "flush"), "without a band"},
		{"a pack without bands", []string{offers0, answer("result", "NAK\n", "PACK", "flush")}, "'PACK'"},
		{"a server without bands", []string{strings.ReplaceAll(offers0, "side-band-64k", "no-bands-here")}, "no side-band"},
		{"a pack without a flush", pack("packfile\n", "\x01PACK"), "cut short"},
		{"a pack that ends in a frame", pack("packfile\n", "raw:0010\x01PACK"), "cut short"},
		{"a delim in a pack", pack("packfile\n", "\x01PACK", "delim"), "unexpected delim"},
		{"a pack that goes on", pack("packfile\n", "\x01PACK", "flush", "flush"), "goes on"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var packs []string
				n := one(t, tt.answers...)
				n.hosts["1.1.1.1:80"] = hangUp(n.hosts["1.1.1.1:80"], len(tt.answers))
				_, err := n.client(gitfetch.Bounds{}).Fetch(t.Context(), wanted(&packs, "1"))
				e, is := errors.AsType[*gitfetch.ProtocolError](err)
				if !is || !strings.Contains(err.Error(), tt.want) || len(packs) > 0 {
					t.Errorf("packs %q, %v", packs, err)
				}
				if is && len(e.Text) > 400 {
					t.Errorf("%d bytes of text", len(e.Text))
				}
			})
		})
	}
}

// hangUp ends the connection after so many answers.
func hangUp(s site, after int) site {
	return func(c io.Writer, q *http.Request) bool {
		after--
		return s(c, q) && after > 0
	}
}

// TestConnectionsThatBreak are told from servers that break the protocol.
func TestConnectionsThatBreak(t *testing.T) {
	for _, answers := range [][]string{
		{offers2[:20]}, {offers2[:len(offers2)-3]}, {offers2, refs2[:len(refs2)-10]}, {offers2, refs2, pack2[:len(pack2)-4]}, {offers2, refs2, open("result", "packfile\n", "\x01PACK")},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := one(t, answers...)
			n.hosts["1.1.1.1:80"] = hangUp(n.hosts["1.1.1.1:80"], len(answers))
			var packs []string
			_, err := n.client(gitfetch.Bounds{}).Fetch(t.Context(), wanted(&packs, "1"))
			if _, is := errors.AsType[*gitfetch.ProtocolError](err); is || !errors.Is(err, io.ErrUnexpectedEOF) || len(packs) > 0 {
				t.Errorf("packs %q, %v", packs, err)
			}
		})
	}
}

// TestAConnectionThatEndedMeanwhile is opened again, once.
func TestAConnectionThatEndedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := one(t, offers2, refs2, pack2)
		s := n.hosts["1.1.1.1:80"]
		n.hosts["1.1.1.1:80"] = func(c io.Writer, q *http.Request) bool { s(c, q); return false }
		var packs []string
		res, err := n.client(gitfetch.Bounds{}).Fetch(t.Context(), wanted(&packs, "1"))
		dialed, _ := n.seen()
		if err != nil || len(packs) != 1 || len(dialed) != 3 || res.Requests != 5 {
			t.Errorf("packs %q, %d dials, %+v, %v", packs, len(dialed), res, err)
		}
		n.hosts["1.1.1.1:80"] = func(io.Writer, *http.Request) bool { return false }
		if _, err := n.client(gitfetch.Bounds{}).Fetch(t.Context(), wanted(nil, "1")); err == nil {
			t.Error("no answer is an answer")
		}
		if dialed, _ := n.seen(); len(dialed) != 4 {
			t.Errorf("%d dials for a server that never answers", len(dialed)-3)
		}
	})
}

// TestServersSay why they do not go on.
func TestServersSay(t *testing.T) {
	long := "access denied: \x1b[2J" + strings.Repeat("x", 1000)
	for name, answers := range map[string][]string{
		"at first":        {answer("advertisement", "ERR "+long+"\n")},
		"for refs":        {offers2, answer("result", "ERR "+long)},
		"among refs":      {offers2, answer("result", hexOf("1")+" refs/heads/main", "ERR "+long)},
		"for a pack":      {offers2, refs2, answer("result", "ERR "+long)},
		"in a band":       {offers2, refs2, answer("result", "packfile\n", "\x01PACK", "\x03"+long+"\n", "flush")},
		"within a pack":   {offers2, refs2, answer("result", "packfile\n", "\x01PACK", "ERR "+long)},
		"in version 0":    {offers0, answer("result", "ERR "+long)},
		"in band 3 first": {offers0, answer("result", "NAK\n", "\x03"+long)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := one(t, answers...).client(gitfetch.Bounds{}).Fetch(t.Context(), wanted(nil, "1"))
				e, is := errors.AsType[*gitfetch.ServerError](err)
				if !is || !strings.HasPrefix(e.Text, `access denied: \x1b[2J`) || len(e.Text) > 200 || strings.Contains(err.Error(), "\x1b") {
					t.Error(err)
				}
			})
		})
	}
}

// TestServersThatLackAnObject say so in several ways; one that says something else is not asked on.
func TestServersThatLackAnObject(t *testing.T) {
	for text, lacks := range map[string]bool{
		"upload-pack: not our ref " + hexOf("3"): true, "want " + hexOf("3") + " not valid": true, "not our ref": true, "internal error": false,
	} {
		synctest.Test(t, func(t *testing.T) {
			var packs []string
			n := one(t, offers2, refs2, pack2, answer("result", "ERR "+text), pack2)
			r := wanted(&packs, "1", "2")
			r.Groups = [][]gitwire.ObjectID{{id("1")}, {id("3"), id("1")}, {id("3")}, {id("4")}}
			res, err := n.client(gitfetch.Bounds{}).Fetch(t.Context(), r)
			if !lacks {
				if _, is := errors.AsType[*gitfetch.ServerError](err); !is || len(packs) != 1 || len(res.Lacks) != 2 {
					t.Errorf("%s: packs %q, %+v, %v", text, packs, res, err)
				}
				return
			}
			// Where the server names the object, it is not asked for it again.
			packsThen, lacking := 3, 0
			if strings.Contains(text, hexOf("3")) {
				packsThen, lacking = 2, 1
			}
			if err != nil || len(packs) != packsThen || len(res.Lacks) != lacking {
				t.Errorf("%s: packs %q, %+v, %v", text, packs, res, err)
			}
		})
	}
}

// TestStatuses other than 200 are told; credentials are not asked for.
func TestStatuses(t *testing.T) {
	for _, tt := range []struct {
		head string
		code int
		wait time.Duration
	}{
		{"401 Unauthorized\r\nWWW-Authenticate: Basic realm=x", 401, 0},
		{"404 Not Found", 404, 0},
		{"403 Forbidden\r\nContent-Encoding: gzip", 403, 0},
		{"204 No Content", 204, 0},
		{"429 Too Many Requests\r\nRetry-After: 120", 429, 2 * time.Minute},
		{"429 Too Many Requests\r\nRetry-After: Sat, 01 Jan 2000 00:01:00 GMT", 429, time.Minute},
		{"429 Too Many Requests\r\nRetry-After: 99999999", 429, 24 * time.Hour},
		{"503 Service Unavailable\r\nRetry-After: soon", 503, 0},
		{"304 Not Modified", 304, 0},
		{"302 Found", 302, 0},
	} {
		for at := range 3 {
			synctest.Test(t, func(t *testing.T) {
				body := "\r\n no \x1b" + strings.Repeat("y", 5000)
				if tt.code == 204 || tt.code == 304 {
					body = ""
				}
				no := "HTTP/1.1 " + tt.head + "\r\nConnection: close\r\n\r\n" + body
				n := one(t, append([]string{offers2, refs2}[:at:at], no)...)
				n.hosts["1.1.1.1:80"] = hangUp(n.hosts["1.1.1.1:80"], at+1)
				_, err := n.client(gitfetch.Bounds{}).Fetch(t.Context(), wanted(nil, "1"))
				e, is := errors.AsType[*gitfetch.StatusError](err)
				if !is || e.Code != tt.code || e.RetryAfter != tt.wait || len(e.Text) > 200 || strings.Contains(err.Error(), "\x1b") {
					t.Fatalf("%s: %v", tt.head, err)
				}
				if (e.Text != "") != (body != "" && tt.code != 403) || e.Text != "" && !strings.HasPrefix(e.Text, `no \x1byyy`) {
					t.Errorf("%s: %q", tt.head, e.Text)
				}
				if _, asked := n.seen(); len(asked) != at+1 {
					t.Errorf("asked %q", asked)
				}
			})
		}
	}
}

// TestNamesOfRefs that are no use, or do harm where somebody trusts them, are left out with what they name.
func TestNamesOfRefs(t *testing.T) {
	bad := []string{
		"refs/heads/--upload-pack=x", "refs/heads/a\x1b[2J", "refs/heads/a\nb", "refs/heads/../x", "refs/heads/a.lock", "refs/tags/-x", "refs/heads/" + strings.Repeat("x", 300),
		"refs/pull/1/head", "refs/notes/x", "refs/headsX/y", "main", "refs/heads/", "ORIG_HEAD", "refs/nostr/a\x7f",
	}
	lines := []string{hexOf("1") + " refs/tags/ok peeled:" + hexOf("5") + " more:x\n", hexOf("2") + " refs/heads/main\n", "unborn HEAD symref-target:refs/heads/--x\n"}
	zero := []string{"# service=git-upload-pack\n", "flush", hexOf("2") + " refs/heads/main" + strings.Replace(words0, "heads/main", "heads/../x", 1), hexOf("1") + " refs/tags/ok\n", hexOf("5") + " refs/tags/ok^{}\n"}
	for _, name := range bad {
		lines = append(lines, hexOf("3")+" "+name+"\n")
		zero = append(zero, hexOf("3")+" "+name+"\n", hexOf("4")+" "+name+"^{}\n")
	}
	for _, answers := range [][]string{{offers2, answer("result", append(lines, "flush")...)}, {answer("advertisement", append(zero, "flush")...)}} {
		synctest.Test(t, func(t *testing.T) {
			res, err := one(t, answers...).client(gitfetch.Bounds{}).Advertised(t.Context(), gitfetch.Request{URL: url})
			if err != nil {
				t.Fatal(err)
			}
			want := []gitwire.Ref{{Name: "refs/heads/main", ID: id("2")}, {Name: "refs/tags/ok", ID: id("1"), Peeled: id("5")}}
			if !slices.Equal(res.Refs.List, want) || res.Refs.Head != "" {
				t.Errorf("%+v", res.Refs)
			}
		})
	}
}

// TestOldServers are told neither format nor agent, which they would refuse.
func TestOldServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := one(t, answer("advertisement", "version 2\n", "ls-refs\n", "fetch\n", "flush"), refs2, pack2)
		var packs []string
		if _, err := n.client(gitfetch.Bounds{}).Fetch(t.Context(), wanted(&packs, "1")); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"", frames("command=ls-refs\n", "delim", "peel\n", "symrefs\n", "ref-prefix HEAD\n", "ref-prefix refs/heads/\n", "ref-prefix refs/tags/\n", "ref-prefix refs/nostr/\n", "flush"),
			frames("command=fetch\n", "delim", "ofs-delta\n", "done\n", "want "+hexOf("1")+"\n", "flush"),
		}
		if !slices.Equal(n.bodies, want) {
			t.Errorf("%q", n.bodies)
		}
	})
}

// TestADetachedHEAD shows its commit as a branch would.
func TestADetachedHEAD(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := one(t, answer("advertisement", hexOf("2")+" HEAD\x00side-band-64k\n", hexOf("1")+" refs/heads/main\n", "flush"), pack0)
		var packs []string
		res, err := n.client(gitfetch.Bounds{}).Fetch(t.Context(), wanted(&packs, "2"))
		if err != nil || len(packs) != 1 || len(res.Lacks) > 0 || len(res.Refs.List) != 1 || res.Refs.Head != "" {
			t.Errorf("%d packs, %+v, %v", len(packs), res, err)
		}
	})
}
