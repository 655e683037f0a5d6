package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/graspd/graspd/internal/test/testkit"
)

func TestEntriesOfAFile(t *testing.T) {
	for in, want := range map[string][]string{
		`{"a":1}` + "\n" + `{"b":2}`:                 {`{"a":1}`, `{"b":2}`},
		`[{"a":1},{"b":2}]`:                          {`{"a":1}`, `{"b":2}`},
		"\uFEFF [ {\"a\":1}\n,\n{\"b\": [2]} ]\n":    {`{"a":1}`, `{"b": [2]}`},
		"[\n{\"a\":\"]}\\\"[\"},\n]":                 {`{"a":"]}\"["}`},
		`[["EVENT",{"a":1}],["EVENT","s",{}]]`:       {`["EVENT",{"a":1}]`, `["EVENT","s",{}]`},
		`["EVENT",{"a":1}]`:                          {`["EVENT",{"a":1}]`},
		`[]`:                                         nil,
		`[{"a":1}] {"b":2}`:                          {`{"a":1}`, `{"b":2}`},
		`[{"a":1},{"b":2}]` + "\n[]\n[" + `{"c":3}]`: {`{"a":1}`, `{"b":2}`, `{"c":3}`},
		"[[\"EVENT\",{}]]\n[[\"EVENT\",{\"b\":2}]]":  {`["EVENT",{}]`, `["EVENT",{"b":2}]`},
		`[{"a":1}]]` + "\n" + `x y`:                  {`{"a":1}`, `x`, `y`},
		`[{"a":1},{"b":`:                             {`{"a":1}`, `{"b":`},
		`[{"a":1}, 5,"x y",{"b":2}]`:                 {`{"a":1}`, `5`, `"x y"`, `{"b":2}`},
		"":                                           nil,
	} {
		for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
			e := entriesOf(r, 100)
			var got []string
			for {
				x, err := e.next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, string(x)); len(got) > 9 {
					break
				}
			}
			if n, _ := e.count(); !slices.Equal(got, want) || n != len(want) {
				t.Errorf("%s: %d %q, want %q", in, n, got, want)
			}
		}
	}
	e := entriesOf(strings.NewReader(`[{"a":"`+strings.Repeat("x", 200)+`"},{"b":2}]`), 100)
	if _, err := e.next(); !errors.Is(err, errLongLine) {
		t.Error(err)
	}
	if x, err := e.next(); err != nil || string(x) != `{"b":2}` {
		t.Errorf("%s %v", x, err)
	}
	broken := errors.New("broken")
	e = entriesOf(io.MultiReader(strings.NewReader(`[{"a":1},{"b`), iotest.ErrReader(broken)), 100)
	if _, err := e.next(); err != nil {
		t.Error(err)
	}
	if _, err := e.next(); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestImportTakesArraysAndMessages, in whatever order their events stand.
func TestImportTakesArraysAndMessages(t *testing.T) {
	at := time.Now().Unix()
	repo := testkit.Announcement(testkit.Key(1), at, "one", "wss://relay.example.org")
	issue := testkit.Issue(testkit.Key(2), at, repo.Address(), "why")
	e := [2]string{string(issue.AppendJSON(nil)), string(repo.AppendJSON(nil))}
	for _, in := range []string{
		fmt.Sprintf("[%s,%s]", e[0], e[1]),
		fmt.Sprintf("[\n  %s,\n  %s\n]\n", e[0], e[1]),
		fmt.Sprintf("[\"EVENT\",%s]\n[\"EVENT\", \"sub\", %s]\n", e[0], e[1]),
		fmt.Sprintf("[%s]\n[%s]\n", e[0], e[1]),
		fmt.Sprintf("[[\"EVENT\",%s],[\"EVENT\",\"sub\",%s]]", e[0], e[1]),
		strings.NewReplacer(`{`, "{\n ", `,"`, ",\n  \"").Replace(fmt.Sprintf("[%s,%s]", e[0], e[1])),
	} {
		code, out, errs := call(t, in, nil, "import", "--data", t.TempDir(), "--git=false", "--domain", "relay.example.org", "--disk-floor", "0", "-")
		if code != exitOK || !strings.Contains(out, "stored 2, known before 0, refused by the rules 0, forged 0, unreadable 0\n") {
			t.Errorf("%.30q: %d %s%s", in, code, out, errs)
		}
	}
	bad := fmt.Sprintf(`[%s,{"a":1}]`, e[1])
	if code, out, errs := call(t, bad, nil, "import", "--data", t.TempDir(), "--git=false", "--domain", "relay.example.org", "--disk-floor", "0", "-"); code != exitOK ||
		!strings.Contains(out, "stored 1,") || !strings.Contains(errs, "graspd: event 2: ") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}
