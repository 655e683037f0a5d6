package gitwire_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

func TestForUploadPack(t *testing.T) {
	q, err := gitwire.ParseRequest(strings.NewReader(fetch2("want-ref refs/tags/v1", "want-ref HEAD", "want "+hexOf("f"), "have "+hexOf("1"))), 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Fetch.Resolve(&some); err != nil {
		t.Fatal(err)
	}
	want := frames("command=fetch\n", "agent=git/2.39.5\n", "object-format=sha1\n", "delim", "want "+hexOf("1")+"\n", "want "+hexOf("2")+"\n", "want "+hexOf("f")+"\n", "have "+hexOf("1")+"\n", "flush")
	if got := string(q.ForUploadPack().AppendTo(nil)); got != want {
		t.Errorf("%q", unframe(got))
	}
	if len(q.Fetch.WantRefs) != 2 || len(q.Fetch.Wants) != 1 || !strings.Contains(string(q.Fetch.AppendHead(nil))+string(q.AppendTo(nil)), "want-ref HEAD") {
		t.Errorf("the request itself is changed: %+v", q.Fetch)
	}
	for _, body := range []string{fetch2("want "+hexOf("2"), "want "+hexOf("1")), frames("command=ls-refs", "flush")} {
		q, err := gitwire.ParseRequest(strings.NewReader(body), 2)
		if err != nil || string(q.ForUploadPack().AppendTo(nil)) != string(q.AppendTo(nil)) {
			t.Errorf("%q is changed, %v", body, err)
		}
	}
}

// resolved is a fetch of refs/heads/main by name, and more.
func resolved(t *testing.T, more ...string) *gitwire.Fetch {
	t.Helper()
	f := parse(t, 2, fetch2(append(more, "want-ref refs/heads/main", "deepen 1")...))
	if err := f.Resolve(&some); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCopyAnswer(t *testing.T) {
	one := hexOf("1")
	wanted := frames("wanted-refs\n", one+" refs/heads/main\n", "delim")
	banded := frames("\x01wanted-refs\n", "\x01"+one+" refs/heads/main\n", "delim")
	all := []string{"sideband-all"}
	for _, c := range []struct {
		name          string
		args          []string
		before, after string // what upload-pack says, and where the refs come between
		want          string
	}{
		{"acknowledgments alone", nil, frames("acknowledgments\n", "NAK\n", "flush"), "", ""},
		{"an error", nil, frames("ERR no"), "", ""},
		{"nothing", nil, "", "", ""},
		{"a shallow clone", nil, frames("shallow-info\n", "shallow "+one, "delim"), frames("packfile\n", "\x02progress", "\x01PACK\x00packfile\n", "\x01packfile\n", "flush"), wanted},
		{"a fetch", nil, frames("acknowledgments\n", "ready\n", "delim"), frames("packfile\n", "\x01PACK", "flush", "end"), wanted},
		{"all in bands", all, frames("\x01shallow-info\n", "\x02packfile\n", "\x01shallow "+one, "delim"), frames("\x01packfile\n", "\x01PACK", "\x01packfile\n", "flush"), banded},
		{"all in bands, and an error", all, frames("\x01shallow-info\n", "\x03packfile\n"), "", ""},
	} {
		var got bytes.Buffer
		if err := resolved(t, c.args...).CopyAnswer(&got, iotest.OneByteReader(strings.NewReader(c.before+c.after))); err != nil || got.String() != c.before+c.want+c.after {
			t.Errorf("%s: %q, %v", c.name, unframe(got.String()), err)
		}
	}
	var got bytes.Buffer
	if err := parse(t, 0, frames("want "+one, "deepen 1", "flush", "done")).CopyAnswer(&got, strings.NewReader("0000PACK\x00")); err != nil || got.String() != "0000PACK\x00" {
		t.Errorf("%q, %v", got.String(), err)
	}
}

func TestCopyAnswerTellsWhatBreaks(t *testing.T) {
	gone := errors.New("gone")
	answer := frames("acknowledgments\n", "ready\n", "delim", "packfile\n", "\x01PACK", "flush")
	pack := strings.Index(answer, "packfile\n") + len("packfile\n")
	for n := range len(answer) {
		var head *gitwire.HeadError
		if err := resolved(t).CopyAnswer(io.Discard, io.MultiReader(strings.NewReader(answer[:n]), iotest.ErrReader(gone))); !errors.Is(err, gone) || errors.As(err, &head) != (n < pack) {
			t.Errorf("upload-pack breaks after %d bytes: %v", n, err)
		}
		if err := resolved(t).CopyAnswer(&short{n, gone}, strings.NewReader(answer)); !errors.Is(err, gone) || errors.As(err, &head) {
			t.Errorf("the client is gone after %d bytes: %v", n, err)
		}
	}
	if err := resolved(t).CopyAnswer(io.Discard, strings.NewReader(answer[:22])); err == nil {
		t.Error("an answer that ends within a frame is taken")
	}
	var got bytes.Buffer
	var head *gitwire.HeadError
	plain := parse(t, 2, fetch2("want "+hexOf("1"), "deepen 1"))
	if err := plain.CopyAnswer(&got, io.MultiReader(strings.NewReader(answer[:29]), iotest.ErrReader(gone))); !errors.As(err, &head) || got.String() != answer[:20] {
		t.Errorf("%q, %v", got.String(), err)
	}
	if err := parse(t, 0, frames("want "+hexOf("1"), "deepen 1", "flush", "done")).CopyAnswer(&got, iotest.ErrReader(gone)); !errors.Is(err, gone) || errors.As(err, &head) {
		t.Errorf("version 0: %v", err)
	}
}

// short takes some bytes and then fails.
type short struct {
	room int
	err  error
}

func (s *short) Write(p []byte) (int, error) {
	n := min(len(p), s.room)
	if s.room -= n; n < len(p) {
		return n, s.err
	}
	return n, nil
}
