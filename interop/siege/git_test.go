package main

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/pktline"
)

// git runs it in a new repository and gives what it prints.
func git(t *testing.T, dir string, in []byte, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(in)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// What attackers push is what they mean to push: git takes their packs, but for what is wrong on purpose.
func TestPacksAreUnderstood(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, nil, "init", "-q", "--bare")
	tip, objects := firstCommit("x")
	p := packOf(objects...)
	base := blob(strings.Repeat("0123456789", 100))
	p.add(base.sort, nil, base.body)
	p.delta(base.sum(), 1000, 1000, 3)
	p.inserting(base, []byte("ab"))
	git(t, dir, p.end(), "index-pack", "--stdin", "--strict")
	if got := git(t, dir, nil, "rev-list", "--objects", tip.String()); strings.Count(got, "\n") != 3 {
		t.Error(got)
	}
	for text, size := range map[string]string{
		strings.Repeat(string(base.body), 3): "3000", "ab" + string(base.body[2:]): "1000",
	} {
		if got := git(t, dir, nil, "cat-file", "-s", blob(text).id().String()); strings.TrimSpace(got) != size {
			t.Errorf("%s bytes, not %s", got, size)
		}
	}
	for name, k := range map[string]func() *pack{"wide": wide, "many": many, "deep": deep} {
		if n := len(k().end()); n > 1<<20 {
			t.Errorf("%s has %d bytes", name, n)
		}
	}
}

// Packs that are much work for few bytes are ones that git takes, in the end.
func TestPacksThatAreMuchWork(t *testing.T) {
	tags, tagRefs := nest()
	history, branches := slowHistory(3, 1_000_000, appendLong)
	names, nameRefs := manyNames()
	for _, p := range []struct {
		pack []byte
		refs []ref
		most int
	}{{tags, tagRefs, 300_000}, {history, branches, 200_000}, {names, nameRefs, 1000}} {
		dir := t.TempDir()
		git(t, dir, nil, "init", "-q", "--bare")
		git(t, dir, p.pack, "index-pack", "--stdin")
		if len(p.pack) > p.most {
			t.Errorf("%d bytes", len(p.pack))
		}
		for _, r := range []ref{p.refs[0], p.refs[len(p.refs)-1]} {
			git(t, dir, nil, "cat-file", "-e", r.id.String())
		}
		if size := len(newPlace("x", "x").state(p.refs...).AppendJSON(nil)); size > 128<<10 {
			t.Errorf("the state has %d bytes", size)
		}
	}
}

// What is stored in a stream that never ends is what it says.
func TestStreamsThatNeverEnd(t *testing.T) {
	z, err := zlib.NewReader(bytes.NewReader(stored([]byte("some bytes "))))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if string(text) != strings.Repeat("some bytes ", 4) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v", text, err)
	}
}

// Requests with many lines are made of frames.
func TestRequestsOfManyLines(t *testing.T) {
	r := pktline.NewReader(bytes.NewReader(listed("command=ls-refs", 100, func(i int) string { return fmt.Sprint("ref-prefix ", i) })), 1<<20)
	n := 0
	for {
		kind, _, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if kind == pktline.Data {
			n++
		}
	}
	if n != 101 {
		t.Errorf("%d lines", n)
	}
}

// Of the packs that break rules git takes the one alone that only has too much.
func TestPacksThatBreakRules(t *testing.T) {
	_, objects := firstCommit("x")
	all := lawlessPacks(objects)
	for i, p := range all {
		dir := t.TempDir()
		git(t, dir, nil, "init", "-q", "--bare")
		cmd := exec.CommandContext(t.Context(), "git", "index-pack", "--stdin")
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(p)
		if out, err := cmd.CombinedOutput(); (err == nil) != (i == len(all)-1) {
			t.Errorf("pack %d: %v, %s", i, err, out)
		}
	}
}

// The uploads of a large file differ, and git takes them.
func TestLargeUploads(t *testing.T) {
	one, pack := largeUpload(1)
	other, _ := largeUpload(2)
	if one == other {
		t.Error("they are alike")
	}
	dir := t.TempDir()
	git(t, dir, nil, "init", "-q", "--bare")
	git(t, dir, pack, "index-pack", "--stdin", "--strict")
	if got := git(t, dir, nil, "rev-list", "--objects", one.String()); strings.Count(got, "\n") != 3 {
		t.Error(got)
	}
}

// What is sent compressed is what it says, and ends.
func TestBodiesThatInflate(t *testing.T) {
	z, err := gzip.NewReader(endless(zip([]byte("head ")), zip([]byte("again "))))
	if err != nil {
		t.Fatal(err)
	}
	begun := make([]byte, 17)
	if _, err := io.ReadFull(z, begun); err != nil || string(begun) != "head again again " {
		t.Errorf("%q, %v", begun, err)
	}
	for _, lines := range []string{"want ", "shallow "} {
		line := packetLine(lines + someID.String())
		if !strings.HasPrefix(line, "00") || len(line) != int(line[2]-'0')*16+int(line[3]-'0') {
			t.Error(line)
		}
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		status int
		text   string
		err    error
		want   string
	}{
		{200, packetLine("unpack ok") + packetLine("ok refs/heads/x") + "0000", nil, "ok"},
		{200, packetLine("unpack ok") + packetLine("ng refs/heads/x no state 0123456789ab… of 12:01:59 by npub1xyz…") + "0000", nil, "no state … of … by …"},
		{200, packetLine("\x02one") + packetLine("\x01"+packetLine("unpack index-pack failed")+packetLine("ng x y")+"0000") + "0000", nil, "index-pack failed"},
		{200, packetLine("ERR not here"), nil, "not here"},
		{200, packetLine("NAK") + packetLine("\x01PACK") + packetLine("\x01"+strings.Repeat("x", 60_000)) + packetLine("\x01"+strings.Repeat("x", 60_000)) + packetLine("\x03what is being fetched: later") + "0000", nil, "what is being fetched: later"},
		{200, packetLine("NAK") + packetLine("\x01PACK"+packetLine("ERR no")) + packetLine("\x02ERR no") + "0000", nil, "ok"},
		{200, "<p>ERR no", nil, "ok"},
		{429, "429 too | many\n", nil, "429 too / many"},
		{200, "", io.ErrUnexpectedEOF, "cut: unexpected EOF"},
	} {
		a := answer{status: c.status}
		if err := a.read(io.NopCloser(strings.NewReader(c.text))); err != nil || a.size != int64(len(c.text)) {
			t.Errorf("%q: %d, %v", c.text, a.size, err)
		}
		if got := a.verdict(c.err); got != c.want {
			t.Errorf("%q: %q, not %q", c.text, got, c.want)
		}
	}
	var all tally
	for i := range 2 * mostAnswers {
		all.heard(strings.Repeat("x", 1+i))
	}
	for range 3 {
		all.heard("ok")
	}
	if got := all.told(); !strings.HasPrefix(got, "103 × other answers; ") || !strings.Contains(got, "1 × x; ") || !strings.HasSuffix(got, " others") || len(all.answers) != mostAnswers+1 {
		t.Errorf("%s of %d", got, len(all.answers))
	}
}

// A client asks as git does, counts what it sends, and finds what was cut short.
func TestCallers(t *testing.T) {
	end := "0000"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.HasSuffix(r.URL.Path, "/git-upload-pack"):
			q, err := gitwire.ParseRequest(bytes.NewReader(body), 2)
			if err != nil || q.Fetch == nil || !slices.Equal(q.Fetch.Wants, []gitwire.ObjectID{someID}) || !q.Fetch.Done || r.Header.Get("Git-Protocol") != "version=2" {
				t.Errorf("%+v, %v", q, err)
			}
			_, _ = io.WriteString(w, strings.Repeat("x", mostText+1)+end)
		case strings.HasSuffix(r.URL.Path, "/git-receive-pack"):
			p, err := gitwire.ParsePush(bytes.NewReader(body))
			if err != nil || len(p.Commands) != 2 || p.Commands[0].Ref != mainRef || p.Commands[1].Ref != nostrRef(7) {
				t.Errorf("%+v, %v", p, err)
			}
			_, _ = io.WriteString(w, packetLine("unpack ok"))
		}
	}))
	defer s.Close()
	var all tally
	c := newCaller("ws"+strings.TrimPrefix(s.URL, "http"), netip.MustParseAddr("127.0.0.1"), &all)
	p := newPlace("x", "a b")
	if !strings.HasSuffix(p.path, "/a%20b.git") {
		t.Error(p.path)
	}
	if err := c.clone(t.Context(), p, someID); err != nil {
		t.Error(err)
	}
	body := pushBody(gitwire.ObjectID{}, []byte("pack"), ref{nostrRef(7), someID}, ref{mainRef, someID})
	if err := c.push(t.Context(), p, body); err != nil {
		t.Error(err)
	}
	if all.messages.Load() != 3 || all.sent.Load() != int64(len(body)+len(want(someID))) || all.answers["ok"] != 3 {
		t.Error(all.String())
	}
	end = "000"
	if err := c.clone(t.Context(), p, someID); err == nil {
		t.Error("a clone that is cut short is one")
	}
}

func TestLeftovers(t *testing.T) {
	text := "# HELP x\ngraspd_git_processes_running{kind=\"fetch\"} 1\ngraspd_git_processes_running{kind=\"a b\"} 2\ngraspd_git_uploads 3\ngraspd_git_cache_flights 5\ngraspd_git_cache_entries 4\n"
	got := strings.Join(notAtRest(sums(text), 2), "; ")
	if want := "graspd_git_processes_running is 3; 1 packs are neither sent nor kept; 2 quarantines for 3 uploads that wait"; got != want {
		t.Errorf("%s\nnot %s", got, want)
	}
	if got := notAtRest(sums("graspd_git_uploads 3\n"), 3); len(got) > 0 {
		t.Error(got)
	}
	// Each account is one that graspd tells of.
	page, err := os.ReadFile("../../docs/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(slices.Clone(accounts), "graspd_git_uploads", "graspd_git_cache_flights", "graspd_git_cache_entries") {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("there is no %s", name)
		}
	}
	data := t.TempDir()
	if err := os.MkdirAll(filepath.Join(data, "git", "incoming", "one"), 0o700); err != nil || quarantines(data) != 1 {
		t.Error(quarantines(data), err)
	}
}
