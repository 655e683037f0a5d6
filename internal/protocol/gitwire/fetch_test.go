package gitwire_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/pktline"
)

// fetch2 is the body of a fetch of version 2 with these arguments.
func fetch2(args ...string) string {
	return frames(slices.Concat([]string{"command=fetch", "agent=git/2.39.5", "object-format=sha1", "delim"}, args, []string{"flush"})...)
}

// TestRequests reads bodies as clients send them, and writes them again.
func TestRequests(t *testing.T) {
	one, two := hexOf("1"), hexOf("2")
	agent := " agent=git/2.39.5"
	for _, c := range []struct {
		name    string
		version gitwire.Version
		body    string
		want    gitwire.Request
		again   string // "" for body
	}{
		{"git's clone, version 2", 2, frames("command=fetch", "agent=git/2.39.5", "object-format=sha1", "delim", "thin-pack", "ofs-delta", "want "+one+"\n", "want "+two+"\n", "done\n", "flush"),
			gitwire.Request{Version: 2, Agent: "git/2.39.5", Fetch: &gitwire.Fetch{Version: 2, Wants: []gitwire.ObjectID{id("1"), id("2")}, ThinPack: true, OfsDelta: true, Done: true}},
			frames("command=fetch\n", "agent=git/2.39.5\n", "object-format=sha1\n", "delim", "thin-pack\n", "ofs-delta\n", "done\n", "want "+one+"\n", "want "+two+"\n", "flush")},
		{"all of version 2", 2, fetch2("thin-pack", "no-progress", "include-tag", "ofs-delta", "sideband-all", "wait-for-done", "shallow "+one, "shallow "+two, "shallow "+one, "deepen 3", "deepen-relative",
			"filter tree:0", "packfile-uris https", "want-ref refs/heads/main", "want-ref HEAD", "want "+one, "want "+one, "have "+two, "have "+one, "have "+two),
			gitwire.Request{Version: 2, Agent: "git/2.39.5", Fetch: &gitwire.Fetch{Version: 2, ThinPack: true, NoProgress: true, IncludeTag: true, OfsDelta: true, SidebandAll: true, WaitForDone: true,
				Shallows: []gitwire.ObjectID{id("1"), id("2")}, Depth: 3, DeepenRelative: true, Filter: gitwire.Filter{Kind: gitwire.FilterTreeZero},
				WantRefs: []string{"refs/heads/main", "HEAD"}, Wants: []gitwire.ObjectID{id("1")}, Haves: []gitwire.ObjectID{id("2"), id("1")}}},
			frames("command=fetch\n", "agent=git/2.39.5\n", "object-format=sha1\n", "delim", "sideband-all\n", "thin-pack\n", "no-progress\n", "include-tag\n", "ofs-delta\n", "wait-for-done\n", "deepen-relative\n",
				"shallow "+one+"\n", "shallow "+two+"\n", "deepen 3\n", "filter tree:0\n", "want-ref refs/heads/main\n", "want-ref HEAD\n", "want "+one+"\n", "have "+two+"\n", "have "+one+"\n", "flush")},
		{"since and without", 2, fetch2("deepen-since 0", "deepen-since 1700000000", "deepen-not main", "deepen-not refs/tags/v1", "deepen-not main", "want "+one, "done"),
			gitwire.Request{Version: 2, Agent: "git/2.39.5", Fetch: &gitwire.Fetch{Version: 2, DeepenSince: 1700000000, DeepenNot: []string{"main", "refs/tags/v1"}, Wants: []gitwire.ObjectID{id("1")}, Done: true}},
			frames("command=fetch\n", "agent=git/2.39.5\n", "object-format=sha1\n", "delim", "done\n", "deepen-since 1700000000\n", "deepen-not main\n", "deepen-not refs/tags/v1\n", "want "+one+"\n", "flush")},
		{"since for ever", 2, fetch2("deepen-since 0", "deepen-relative", "want "+one),
			gitwire.Request{Version: 2, Agent: "git/2.39.5", Fetch: &gitwire.Fetch{Version: 2, DeepenSince: 1, Wants: []gitwire.ObjectID{id("1")}}},
			frames("command=fetch\n", "agent=git/2.39.5\n", "object-format=sha1\n", "delim", "deepen-since 1\n", "want "+one+"\n", "flush")},
		{"ls-refs", 2, frames("object-format=sha1", "server-option=a=b", "server-option", "command=ls-refs\n", "agent=a b\x00c", "delim", "unborn", "peel\n", "symrefs", "ref-prefix b", "ref-prefix a\n", "ref-prefix bc", "flush"),
			gitwire.Request{Version: 2, Agent: "a.b.c", LsRefs: &gitwire.LsRefs{Peel: true, Symrefs: true, Unborn: true, Prefixes: []string{"a", "b"}}},
			frames("command=ls-refs\n", "agent=a.b.c\n", "object-format=sha1\n", "delim", "peel\n", "symrefs\n", "unborn\n", "ref-prefix a\n", "ref-prefix b\n", "flush")},
		{"a command without arguments", 2, frames("command=ls-refs", "flush"), gitwire.Request{Version: 2, LsRefs: &gitwire.LsRefs{}}, frames("command=ls-refs\n", "object-format=sha1\n", "delim", "flush")},
		{"object-info", 2, frames("command=object-info", "delim", "oid "+one, "size", "oid "+two+"\n", "oid "+one, "flush"),
			gitwire.Request{Version: 2, ObjectInfo: &gitwire.ObjectInfo{Size: true, IDs: []gitwire.ObjectID{id("1"), id("2")}}},
			frames("command=object-info\n", "object-format=sha1\n", "delim", "size\n", "oid "+one+"\n", "oid "+two+"\n", "flush")},
		{"git's probe, version 2", 2, "0000", gitwire.Request{Version: 2}, ""},
		{"nothing, version 2", 2, "", gitwire.Request{Version: 2}, "0000"},
		{"git's probe, version 0", 0, "0000", gitwire.Request{}, ""},
		{"nothing, version 1", 1, "", gitwire.Request{Version: 1}, "0000"},
		{"nothing wanted, version 0", 0, "00000009done\n", gitwire.Request{}, "0000"},

		{"git's clone, version 0", 0, frames("want "+one+" multi_ack_detailed no-done side-band-64k thin-pack include-tag ofs-delta deepen-since deepen-not"+agent+"\n", "want "+two+"\n", "want "+one+"\n", "flush", "done\n"),
			gitwire.Request{Agent: "git/2.39.5", Fetch: &gitwire.Fetch{Wants: []gitwire.ObjectID{id("1"), id("2")}, MultiAck: gitwire.MultiAckDetailed, NoDone: true, Sideband: 65520, ThinPack: true, IncludeTag: true, OfsDelta: true, Done: true}},
			frames("want "+one+" multi_ack_detailed side-band-64k no-done thin-pack include-tag ofs-delta"+agent+"\n", "want "+two+"\n", "flush", "done\n")},
		{"a round of git's fetch, version 1", 1, frames("want "+one+" multi_ack_detailed no-done side-band-64k thin-pack no-progress ofs-delta"+agent+"\n", "flush", "have "+two+"\n", "have "+one, "have "+two, "flush"),
			gitwire.Request{Version: 1, Agent: "git/2.39.5", Fetch: &gitwire.Fetch{Version: 1, Wants: []gitwire.ObjectID{id("1")}, MultiAck: gitwire.MultiAckDetailed, NoDone: true, Sideband: 65520, ThinPack: true, NoProgress: true, OfsDelta: true,
				Haves: []gitwire.ObjectID{id("2"), id("1")}}},
			frames("want "+one+" multi_ack_detailed side-band-64k no-done thin-pack no-progress ofs-delta"+agent+"\n", "flush", "have "+two+"\n", "have "+one+"\n", "flush")},
		{"libgit2's clone", 0, frames("want "+one+" multi_ack_detailed side-band-64k side-band include-tag ofs-delta \n", "flush", "done\n"),
			gitwire.Request{Fetch: &gitwire.Fetch{Wants: []gitwire.ObjectID{id("1")}, MultiAck: gitwire.MultiAckDetailed, Sideband: 65520, IncludeTag: true, OfsDelta: true, Done: true}},
			frames("want "+one+" multi_ack_detailed side-band-64k include-tag ofs-delta\n", "flush", "done\n")},
		{"isomorphic-git's shallow clone", 0, frames("want "+one+" multi_ack_detailed no-done side-band-64k ofs-delta agent=git/isomorphic-git@1.44\n", "deepen 1\n", "flush", "done\n"),
			gitwire.Request{Agent: "git/isomorphic-git@1.44", Fetch: &gitwire.Fetch{Wants: []gitwire.ObjectID{id("1")}, MultiAck: gitwire.MultiAckDetailed, NoDone: true, Sideband: 65520, OfsDelta: true, Depth: 1, Done: true}},
			frames("want "+one+" multi_ack_detailed side-band-64k no-done ofs-delta agent=git/isomorphic-git@1.44\n", "deepen 1\n", "flush", "done\n")},
		{"asks where its history ends", 0, frames("want "+one+" multi_ack side-band deepen-relative filter allow-tip\n", "shallow "+two, "deepen 2147483647", "filter blob:limit=1k", "flush"),
			gitwire.Request{Fetch: &gitwire.Fetch{Wants: []gitwire.ObjectID{id("1")}, MultiAck: gitwire.MultiAckPlain, Sideband: 1000, Shallows: []gitwire.ObjectID{id("2")}, Depth: math.MaxInt32, DeepenRelative: true,
				Filter: gitwire.Filter{Kind: gitwire.FilterBlobLimit, Limit: 1024}, Bare: true}},
			frames("want "+one+" multi_ack side-band deepen-relative filter\n", "shallow "+two+"\n", "deepen 2147483647\n", "filter blob:limit=1024\n", "flush")},
		{"no words at all", 0, frames("want "+one, "flush", "flush"), gitwire.Request{Fetch: &gitwire.Fetch{Wants: []gitwire.ObjectID{id("1")}}}, frames("want "+one+"\n", "flush", "flush")},
		{"words on the second line", 0, frames("want "+one, "want "+two+" side-band thin-pack multi_ack multi_ack_detailed multi_ack object-format=sha1", "flush", "flush"),
			gitwire.Request{Fetch: &gitwire.Fetch{Wants: []gitwire.ObjectID{id("1"), id("2")}, Sideband: 1000, ThinPack: true, MultiAck: gitwire.MultiAckDetailed}},
			frames("want "+one+" multi_ack_detailed side-band thin-pack\n", "want "+two+"\n", "flush", "flush")},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := gitwire.ParseRequest(iotest.OneByteReader(strings.NewReader(c.body)), c.version)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %s\nnot %s", show(got), show(c.want))
			}
			if c.again == "" {
				c.again = c.body
			}
			if again := string(got.AppendTo([]byte("before"))); again != "before"+c.again {
				t.Errorf("again %q\nnot %q", unframe(again[6:]), unframe(c.again))
			}
		})
	}
}

func show(q gitwire.Request) string {
	return fmt.Sprintf("%d %q %+v %+v %+v", q.Version, q.Agent, q.LsRefs, q.Fetch, q.ObjectInfo)
}

// TestRefusedRequests: what git refuses, and what exceeds bounds, with the words that its sender reads.
func TestRefusedRequests(t *testing.T) {
	one := hexOf("1")
	for _, c := range []struct {
		name    string
		version gitwire.Version
		body    string
		want    string
	}{
		{"no frame", 2, "GET / HTTP/1.0\r\n", `malformed pkt-line: bad line length characters 'GET '`},
		{"no frame, version 0", 0, "zzzz", `malformed pkt-line`},
		{"an end within a frame", 2, "0014command", "unexpected EOF"},
		{"an end within the capabilities", 2, frames("command=fetch"), "the request ends within the capabilities"},
		{"an end within the arguments", 2, frames("command=fetch", "delim", "done"), "the request ends within the arguments of fetch"},
		{"no command", 2, frames("agent=x", "flush"), "no command requested"},
		{"no command, and arguments", 2, frames("delim", "peel", "flush"), "no command requested"},
		{"another command", 2, frames("command=bundle-uri", "flush"), `invalid command 'bundle-uri'`},
		{"two commands", 2, frames("command=fetch", "command=ls-refs", "flush"), `command 'ls-refs' requested after already requesting command 'fetch'`},
		{"another capability", 2, frames("session-id=x", "flush"), `unknown capability 'session-id=x'`},
		{"a command as a capability", 2, frames("fetch", "flush"), `unknown capability 'fetch'`},
		{"an ERR", 2, frames("ERR no", "flush"), `unknown capability 'ERR no'`},
		{"SHA-256", 2, frames("command=fetch", "object-format=sha256", "flush"), "mismatched object format: server sha1; client sha256"},
		{"another format", 2, frames("object-format=md5"), `unknown object format 'md5'`},
		{"no format", 2, frames("object-format"), "object-format capability requires an argument"},
		{"a second delim", 2, frames("command=fetch", "delim", "delim", "flush"), "unexpected delim in the arguments of fetch"},
		{"a response-end", 2, frames("command=fetch", "end"), "unexpected response-end in the capabilities"},
		{"an argument of another command", 2, fetch2("peel"), `unexpected line: 'peel'`},
		{"a word with a blank", 2, fetch2("thin-pack "), `unexpected line: 'thin-pack '`},
		{"a word with a tab", 2, fetch2("thin-pack\t"), `unexpected line: 'thin-pack\t'`},
		{"ls-refs of something", 2, frames("command=ls-refs", "delim", "ref-prefix", "flush"), `unexpected line: 'ref-prefix'`},
		{"an empty line", 2, fetch2(""), `unexpected line: ''`},
		{"object-info of something", 2, frames("command=object-info", "delim", "type", "flush"), `object-info: unexpected line: 'type'`},
		{"object-info of a name", 2, frames("command=object-info", "delim", "oid HEAD", "flush"), `'HEAD' is no object id`},
		{"a name wanted", 2, fetch2("want refs/heads/main"), `'refs/heads/main' is no object id`},
		{"an id in upper case", 2, fetch2("want " + strings.ToUpper(hexOf("a"))), "is no object id of 40 lower-case hex digits"},
		{"an id of SHA-256", 2, fetch2("want " + strings.Repeat("ab", 32)), "is an object id of SHA-256"},
		{"the null id", 2, fetch2("want " + hexOf("0")), "upload-pack: not our ref 0000000000000000000000000000000000000000"},
		{"a name had", 2, fetch2("have x"), `'x' is no object id`},
		{"a name that is none", 2, fetch2("want-ref --upload-pack=x"), `unknown ref --upload-pack=x`},
		{"a name twice", 2, fetch2("want-ref refs/heads/x", "want-ref refs/heads/x"), `duplicate want-ref 'refs/heads/x'`},
		{"a depth of nothing", 2, fetch2("deepen 0"), `Invalid deepen: '0'`},
		{"a depth below nothing", 2, fetch2("deepen -1"), `Invalid deepen: '-1'`},
		{"a depth with more", 2, fetch2("deepen 1 "), `Invalid deepen: '1 '`},
		{"a depth without a number", 2, fetch2("deepen "), `Invalid deepen: ''`},
		{"a depth beyond git's", 2, fetch2("deepen 2147483648"), `Invalid deepen: '2147483648'`},
		{"since when", 2, fetch2("deepen-since yesterday"), `Invalid deepen-since: 'yesterday'`},
		{"since the end of time", 2, fetch2("deepen-since 9223372036854775808"), "Invalid deepen-since"},
		{"depth and since", 2, fetch2("deepen 1", "deepen-since 1"), "deepen and deepen-since (or deepen-not) cannot be used together"},
		{"depth and not", 2, fetch2("deepen-not main", "deepen 1"), "deepen and deepen-since (or deepen-not) cannot be used together"},
		{"depth and since, version 0", 0, frames("want "+one, "deepen 1", "deepen-since 1", "flush"), "deepen and deepen-since (or deepen-not) cannot be used together"},
		{"not an option", 2, fetch2("deepen-not --all"), `deepen-not is not a ref: '--all'`},
		{"not a revision", 2, fetch2("deepen-not main~3"), `deepen-not is not a ref: 'main~3'`},
		{"not nothing", 2, fetch2("deepen-not "), `deepen-not is not a ref: ''`},
		{"not so long", 2, fetch2("deepen-not " + strings.Repeat("x", 251)), "deepen-not is not a ref"},
		{"a shallow name", 2, fetch2("shallow main"), `'main' is no object id`},
		{"a filter twice", 2, fetch2("filter blob:none", "filter blob:none"), "multiple filter-specs cannot be combined"},
		{"a costly filter", 2, fetch2("filter sparse:oid=main"), "filter 'sparse:oid' not supported"},
		{"nothing wanted, and shallow", 0, frames("shallow "+one, "flush"), "shallow lines, and nothing wanted"},
		{"a have too early", 0, frames("have "+one, "flush"), `expected to get object ID, not 'have 1`},
		{"a push", 0, frames(hexOf("0") + " " + one + " refs/heads/x\x00report-status"), "expected to get object ID, not"},
		{"a want too late", 0, frames("want "+one, "flush", "want "+one), `expected SHA1 list, got 'want 1`},
		{"a name wanted, version 0", 0, frames("want main"), `'main' is no object id`},
		{"a word without a blank", 0, frames("want " + one + "side-band"), "is no object id"},
		{"SHA-256, version 0", 0, frames("want " + one + " object-format=sha256"), "mismatched object format"},
		{"no flush", 0, frames("want " + one), "the request ends within what is wanted"},
		{"no done", 0, frames("want "+one, "flush", "have "+one), "the request ends within what is there already"},
		{"a delim, version 0", 0, frames("delim"), "unexpected delim in what is wanted"},
		{"a delim among the wants", 0, frames("want "+one, "delim"), "unexpected delim in what is wanted"},
		{"a delim among the haves", 0, frames("want "+one, "flush", "delim"), "unexpected delim in what is there already"},
		{"a long line", 0, frames(strings.Repeat("x", 60000)), "expected to get object ID, not 'x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := gitwire.ParseRequest(strings.NewReader(c.body), c.version)
			if strings.HasPrefix(c.name, "an end within a frame") { // the connection's fault
				if !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%v", err)
				}
				return
			}
			var refused *gitwire.RequestError
			if !errors.As(err, &refused) || !strings.Contains(refused.Text, c.want) || len(refused.Text) > 600 {
				t.Errorf("%v", err)
			}
		})
	}
}

// What the connection does wrong is not told as the client's fault.
func TestBrokenRequests(t *testing.T) {
	gone := errors.New("gone")
	for _, v := range []gitwire.Version{0, 2} {
		for _, begun := range []string{"", "00", frames("command=fetch", "delim"), frames("want " + hexOf("1")), frames("want "+hexOf("1"), "flush")} {
			if v == 0 == strings.Contains(begun, "command") {
				continue
			}
			_, err := gitwire.ParseRequest(io.MultiReader(strings.NewReader(begun), iotest.ErrReader(gone)), v)
			var refused *gitwire.RequestError
			if v == 2 && strings.Contains(begun, "want") {
				continue
			}
			if !errors.Is(err, gone) || errors.As(err, &refused) {
				t.Errorf("version %d after %q: %v", v, begun, err)
			}
		}
	}
	_, err := gitwire.ParsePush(iotest.ErrReader(gone))
	if !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}

// numbered is an id with a number in it.
func numbered(n int) string { return fmt.Sprintf("%040x", n+1) }

func lots(n int, line func(i int) string) string {
	var dst []byte
	for i := range n {
		dst = pktline.Append(dst, line(i))
	}
	return string(dst)
}

func TestRequestsAreBounded(t *testing.T) {
	want := func(i int) string { return "want " + numbered(i) }
	wantRef := func(i int) string { return fmt.Sprintf("want-ref refs/heads/%d", i) }
	have := func(i int) string { return "have " + numbered(i) }
	head2, end := frames("command=fetch", "delim"), "0000"
	for _, c := range []struct {
		name    string
		version gitwire.Version
		body    string
		want    string // "" if it is taken
	}{
		{"the most wants", 2, head2 + lots(gitwire.MaxWants, want) + end, ""},
		{"the most wants, each twice", 2, head2 + lots(gitwire.MaxWants, want) + lots(gitwire.MaxWants, want) + end, ""},
		{"too many wants", 2, head2 + lots(gitwire.MaxWants+1, want) + end, "more than 16384 objects wanted: fetch some refs at a time"},
		{"too many wants, version 0", 0, lots(gitwire.MaxWants+1, want) + end, "more than 16384 objects wanted"},
		{"the most refs", 2, head2 + lots(gitwire.MaxWants, wantRef) + end, ""},
		{"too many refs", 2, head2 + lots(gitwire.MaxWants+1, wantRef) + end, "more than 16384 objects wanted"},
		{"too many of both", 2, head2 + lots(gitwire.MaxWants/2, wantRef) + lots(gitwire.MaxWants/2+1, want) + end, "more than 16384 objects wanted"},
		{"too many of both the other way round", 2, head2 + lots(gitwire.MaxWants/2, want) + lots(gitwire.MaxWants/2+1, wantRef) + end, "more than 16384 objects wanted"},
		{"the most shallows", 2, head2 + lots(gitwire.MaxShallows, func(i int) string { return "shallow " + numbered(i) }) + end, ""},
		{"too many shallows", 2, head2 + lots(gitwire.MaxShallows+1, func(i int) string { return "shallow " + numbered(i) }) + end, "more than 32768 shallow commits"},
		{"the most excludes", 2, head2 + lots(gitwire.MaxExcludes, func(i int) string { return fmt.Sprintf("deepen-not b%d", i) }) + end, ""},
		{"too many excludes", 2, head2 + lots(gitwire.MaxExcludes+1, func(i int) string { return fmt.Sprintf("deepen-not b%d", i) }) + end, "more than 256 refs in deepen-not"},
		{"the most objects", 2, frames("command=object-info", "delim") + lots(gitwire.MaxInfo, func(i int) string { return "oid " + numbered(i) }) + end, ""},
		{"too many objects", 2, frames("command=object-info", "delim") + lots(gitwire.MaxInfo+1, func(i int) string { return "oid " + numbered(i) }) + end, "object-info: more than 10000 objects"},
		{"too many bytes", 2, frames("command=ls-refs", "delim") + lots(gitwire.MaxRequest/60000+1, func(int) string { return "ref-prefix " + strings.Repeat("x", 60000) }) + end, "too many bytes in pkt-lines: 4194304 are taken"},
		{"too many bytes, version 0", 0, lots(1, want) + lots(gitwire.MaxRequest/5, func(int) string { return "\n" }), "expected to get object ID"},
		{"too many options", 2, lots(gitwire.MaxRequest/60000+1, func(int) string { return "server-option=" + strings.Repeat("x", 60000) }), "too many bytes"},
		{"haves past their bound", 2, head2 + lots(1, want) + lots(gitwire.MaxHaves+1000, have) + end, ""},
		{"haves past their bound, version 0", 0, lots(1, want) + end + lots(gitwire.MaxHaves+1000, have) + end, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, err := gitwire.ParseRequest(strings.NewReader(c.body), c.version)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v", err)
			}
			if q.Fetch == nil {
				return
			}
			if f := q.Fetch; len(f.Wants)+len(f.WantRefs) > gitwire.MaxWants || len(f.Haves) > gitwire.MaxHaves || len(f.Shallows) > gitwire.MaxShallows || len(f.DeepenNot) > gitwire.MaxExcludes {
				t.Errorf("%d wants, %d refs, %d haves, %d shallows, %d excludes", len(f.Wants), len(f.WantRefs), len(f.Haves), len(f.Shallows), len(f.DeepenNot))
			}
			if strings.HasPrefix(c.name, "haves") && (len(q.Fetch.Haves) != gitwire.MaxHaves || q.Fetch.Haves[0].String() != numbered(0) || q.Fetch.Haves[gitwire.MaxHaves-1].String() != numbered(gitwire.MaxHaves-1)) {
				t.Errorf("%d haves", len(q.Fetch.Haves))
			}
		})
	}
}

// A body is read to the last byte of the request and no further.
func TestRequestLeavesTheRest(t *testing.T) {
	for version, body := range map[gitwire.Version]string{2: fetch2("want "+hexOf("1"), "done"), 0: frames("want "+hexOf("1"), "flush", "done")} {
		in := strings.NewReader(body + "more")
		if _, err := gitwire.ParseRequest(in, version); err != nil {
			t.Fatal(err)
		}
		if rest, _ := io.ReadAll(in); string(rest) != "more" {
			t.Errorf("version %d: %q is left", version, rest)
		}
	}
}

func TestFilters(t *testing.T) {
	for spec, want := range map[string]string{
		"blob:none": "blob:none", "blob:limit=0": "blob:limit=0", "blob:limit=10": "blob:limit=10", "blob:limit=1k": "blob:limit=1024", "blob:limit=2K": "blob:limit=2048", "blob:limit=3m": "blob:limit=3145728",
		"blob:limit=1M": "blob:limit=1048576", "blob:limit=1g": "blob:limit=1073741824", "blob:limit=1G": "blob:limit=1073741824", "blob:limit=9223372036854775807": "blob:limit=9223372036854775807", "tree:0": "tree:0",
	} {
		q, err := gitwire.ParseRequest(strings.NewReader(fetch2("filter "+spec, "want "+hexOf("1"))), 2)
		if err != nil || q.Fetch.Filter.String() != want {
			t.Errorf("%s: %v, %v", spec, q.Fetch.Filter, err)
		}
	}
	for spec, want := range map[string]string{
		"": `invalid filter-spec ''`, "blob": `invalid filter-spec 'blob'`, "blob:none ": `invalid filter-spec 'blob:none '`, "blob:limit=": "invalid filter-spec", "blob:limit=k": "invalid filter-spec",
		"blob:limit=-1": "invalid filter-spec", "blob:limit=+1": "invalid filter-spec", "blob:limit=1kk": "invalid filter-spec", "blob:limit=1t": "invalid filter-spec", "blob:limit=9223372036854775808": "invalid filter-spec",
		"blob:limit=9007199254740992k": "invalid filter-spec", "blob:limit=0x10": "invalid filter-spec", "tree:1": "tree filter allows max depth 0, but got 1", "tree:5": "tree filter allows max depth 0, but got 5", "tree:x": "expected 'tree:<depth>'",
		"tree:": "expected 'tree:<depth>'", "sparse:oid=x": "filter 'sparse:oid' not supported", "sparse:path=x": "invalid filter-spec", "object:type=blob": "filter 'object:type' not supported",
		"combine:blob:none+tree:0": "filter 'combine' not supported", "auto": "invalid filter-spec",
	} {
		_, err := gitwire.ParseRequest(strings.NewReader(fetch2("filter "+spec)), 2)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// Refusals are in the form in which git shows them, as far as the request was understood.
func TestRefusalOfAFetch(t *testing.T) {
	for body, want := range map[string]string{
		fetch2("want x"):                 "0006" + "ERR no",
		fetch2("sideband-all", "want x"): "0007\x03no0000",
		"zzzz":                           "ERR no",
	} {
		q, err := gitwire.ParseRequest(strings.NewReader(body), 2)
		if err == nil {
			t.Fatalf("%q is taken", body)
		}
		if strings.Contains(want, "ERR") {
			want = frames("ERR no")
		}
		if got := string(q.AppendRefusal(nil, "no")); got != want {
			t.Errorf("%q: %q", body, got)
		}
	}
	q := gitwire.Request{Fetch: &gitwire.Fetch{SidebandAll: true}}
	if got := unframe(string(q.AppendRefusal(nil, strings.Repeat("\u20ac", 30000)))); len(got) != 3 || len(got[0]) < 3000 || strings.ContainsRune(got[0], '\ufffd') || !strings.HasSuffix(got[0], "\u20ac") {
		t.Errorf("%d lines, %d bytes", len(got), len(got[0]))
	}
}
