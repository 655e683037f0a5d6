package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// FuzzImportLines: lines are those that a naive reader finds, whatever is in them and however they arrive; one that is too
// long costs no other.
func FuzzImportLines(f *testing.F) {
	e := string(testkit.Issue(testkit.Key(1), 1, "30617:x:y", "é\r\n").AppendJSON(nil))
	for _, s := range []string{"", "\n", "\r\n\r\n", e, e + "\n", e + "\r\n" + e, "\ufeff" + e, "\xff\xfe{\x00}\n" + e, strings.Repeat("x", 700) + "\n" + e, e + "\n\n" + strings.Repeat(" ", 600)} {
		f.Add(s, uint16(512))
	}
	f.Fuzz(func(t *testing.T, text string, max uint16) {
		lines := strings.Split(text, "\n")
		if lines[len(lines)-1] == "" { // what ends with a line has no empty one behind it
			lines = lines[:len(lines)-1]
		}
		for _, in := range []io.Reader{strings.NewReader(text), iotest.DataErrReader(iotest.HalfReader(strings.NewReader(text)))} {
			l := newLineReader(in, int(max))
			for i, want := range lines {
				got, err := l.next()
				text := want
				if i == 0 {
					text = strings.TrimPrefix(text, "\ufeff")
				}
				if long := len(want) > int(max); long != errors.Is(err, errLongLine) || !long && (err != nil || string(got) != string(bytes.TrimSpace([]byte(text)))) {
					t.Fatalf("line %d: %q, %v; want %q", i+1, got, err, want)
				}
				if l.n != i+1 || len(l.buf) > int(max) {
					t.Errorf("line %d is number %d, %d bytes are kept", i+1, l.n, len(l.buf))
				}
				// What is taken for an event is written as it is read.
				if e, err := nostr.ParseEvent(got); err == nil {
					if again, err := nostr.ParseEvent(e.AppendJSON(nil)); err != nil || !bytes.Equal(again.AppendJSON(nil), e.AppendJSON(nil)) {
						t.Errorf("%q became %v, %v", got, again, err)
					}
				}
			}
			if got, err := l.next(); !errors.Is(err, io.EOF) {
				t.Fatalf("behind the end: %q, %v", got, err)
			}
		}
	})
}

// TestImportGoesOnBehindBadLines: whatever a line is, what stands behind it is taken.
func TestImportGoesOnBehindBadLines(t *testing.T) {
	now := time.Now().Unix()
	owner := testkit.Key(1)
	ann := testkit.Announcement(owner, now, "proj", "wss://relay.example.org")
	var in bytes.Buffer
	for _, line := range [][]byte{
		bytes.Repeat([]byte("x"), importLine+1), []byte("\xff\xfe"), []byte("[1,2]"), ann.AppendJSON([]byte("\ufeff")),
		append(ann.AppendJSON(nil), '\r'), testkit.Issue(owner, now, testkit.RepositoryAddress(owner, "proj"), "last").AppendJSON(nil),
	} {
		in.Write(append(line, '\n'))
	}
	code, out, errs := call(t, in.String(), nil, "import", "--data", t.TempDir(), "--domain", "relay.example.org", "--disk-floor", "0", "-")
	if code != exitOK || !strings.Contains(out, "stored 2,") || !strings.Contains(out, "unreadable 4\n") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if !strings.Contains(errs, "line 1: longer than 4 MiB\n") || !strings.Contains(errs, "line 2: ") || len(errs) > 1000 {
		t.Errorf("%s", errs)
	}
}

// TestImportOfAFileWithAByteOrderMark: some editors and shells begin a file with one, which costs no event.
func TestImportOfAFileWithAByteOrderMark(t *testing.T) {
	ann := testkit.Announcement(testkit.Key(1), time.Now().Unix(), "proj", "wss://relay.example.org")
	code, out, errs := call(t, "\ufeff"+string(ann.AppendJSON(nil))+"\r\n", nil, "import", "--data", t.TempDir(), "--domain", "relay.example.org", "--disk-floor", "0", "-")
	if code != exitOK || !strings.Contains(out, "stored 1,") || !strings.Contains(out, "unreadable 0") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

func TestImportOfAFileThatCannotBeRead(t *testing.T) {
	broken := errors.New("input/output error")
	l := newLineReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 10)
	if got, err := l.next(); string(got) != "a" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := l.next(); !errors.Is(err, broken) {
		t.Errorf("%q, %v", got, err)
	}
}

// FuzzListFile: the entries of a file of a list are those of a naive reading; whatever is in it, what is said about it is
// bounded, and names no secret key.
func FuzzListFile(f *testing.F) {
	key := testkit.Key(1).PubKey().String()
	for _, s := range []string{
		"", key, key + "\r\n" + key, "# c\n\n" + key + " # me\n", key + "#no comment", "\ufeff" + key, "\x00\n", "\xff",
		"nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5", "30617:" + key + ":a b\tc",
		strings.Repeat("bad\n", 30), strings.Repeat("x", 5000), "\u2028" + key + "\u00a0",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want []string
		for _, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
			fields := strings.TrimSpace(line)
			for _, mark := range []string{" #", "\t#"} {
				fields, _, _ = strings.Cut(fields, mark)
			}
			if fields = strings.TrimSpace(fields); fields != "" && fields[0] != '#' {
				want = append(want, fields)
			}
		}
		var got []string
		var keys policy.PubKeys
		p := problemList{flag: "--x"}
		p.text("file", []byte(strings.TrimPrefix(text, "\ufeff")), func(s string) error { got = append(got, s); return keys.AddAuthor(s) })
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		told := p.all()
		if len(told) > listProblems+1 || len(told) == 0 && len(keys) == 0 && len(want) > 0 {
			t.Errorf("%d problems", len(told))
		}
		for _, line := range told {
			if len(line) > 1000 || strings.ContainsAny(line, "\n\x00") || strings.Contains(strings.ToLower(line), "nsec1") {
				t.Errorf("%q", line)
			}
		}
	})
}
