package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestImportSaysWhyAndWhatToTry: an operator who gives the wrong --domain learns it from the sum, and a script from the exit code.
func TestImportSaysWhyAndWhatToTry(t *testing.T) {
	now := time.Now().Unix()
	owner := testkit.Key(1)
	var in bytes.Buffer
	for _, e := range []*nostr.Event{
		testkit.Announcement(owner, now, "one", "wss://other.example.org"),
		testkit.Announcement(owner, now, "two", "wss://other.example.org", "wss://third.example.org"),
		testkit.Issue(owner, now, testkit.RepositoryAddress(owner, "one"), "it breaks"),
		testkit.Sign(owner, now, nostr.KindNote, "hello"),
	} {
		in.Write(append(e.AppendJSON(nil), '\n'))
	}
	imported := func(domain, dir string) (int, string, string) {
		return call(t, in.String(), nil, "import", "--data", dir, "--git=false", "--domain", domain, "--disk-floor", "0", "-")
	}
	code, out, errs := imported("relay.example.org", t.TempDir())
	if code != exitFail || !strings.Contains(errs, "nothing was stored") {
		t.Errorf("%d %s", code, errs)
	}
	for _, want := range []string{
		"stored 0, known before 0, refused by the rules 4,", "      2  announcements that do not list relay.example.org\n",
		"      2  name nothing that is here", "2 of the announcements list other.example.org: import with --domain other.example.org",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	dir := t.TempDir()
	if code, out, errs = imported("other.example.org", dir); code != exitOK || !strings.Contains(out, "stored 3,") || strings.Contains(out, "import with") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if code, out, errs = imported("other.example.org", dir); code != exitOK || !strings.Contains(out, "stored 0, known before 3,") {
		t.Errorf("the second time: %d %s%s", code, out, errs)
	}
	if code, out, errs = imported("third.example.org", t.TempDir()); code != exitOK || !strings.Contains(out, "stored 1,") || !strings.Contains(out, "1 of the announcements list other.example.org") {
		t.Errorf("one of two: %d %s%s", code, out, errs)
	}
	more := in.String()
	for _, id := range []string{"three", "four"} {
		more += string(testkit.Announcement(owner, now, id, "wss://third.example.org").AppendJSON(nil)) + "\n"
	}
	in.Reset()
	in.WriteString(more)
	if code, out, errs = imported("third.example.org", t.TempDir()); code != exitOK || !strings.Contains(out, "stored 3,") || strings.Contains(out, "import with") {
		t.Errorf("the name that took most: %d %s%s", code, out, errs)
	}
	if code, out, errs = call(t, "\n\n", nil, "import", "--data", t.TempDir(), "--domain", "relay.example.org", "--disk-floor", "0", "-"); code != exitOK {
		t.Errorf("an empty file: %d %s%s", code, out, errs)
	}
}

// TestImportStopsAtWhatIsNoFileOfEvents, early, and says what it looks like.
func TestImportStopsAtWhatIsNoFileOfEvents(t *testing.T) {
	lines := strings.Repeat("what is this\n", 1000)
	e := string(testkit.Announcement(testkit.Key(1), time.Now().Unix(), "one", "wss://relay.example.org").AppendJSON(nil))
	for in, want := range map[string]string{
		"\x1f\x8b\x08\x00\n" + lines:    "zcat",
		"SQLite format 3\x00\n" + lines: "SQLite",
		"[\n" + lines:                   "JSON array",
		"{\n" + lines:                   "several lines",
		"{\"a\":1}\n" + lines:           "no Nostr events",
		"<html>\n" + lines:              "web page",
		lines:                           "one JSON object a line: of the first 20 lines none is one\n",
	} {
		code, out, errs := call(t, in, nil, "import", "--data", t.TempDir(), "--domain", "relay.example.org", "--disk-floor", "0", "-")
		if code != exitFail || !strings.Contains(errs, want) || !strings.Contains(errs, "no file of events") || strings.Contains(errs, "line 21") {
			t.Errorf("%.20q: %d %s%s", in, code, out, errs)
		}
	}
	// One event among the first lines, and it goes on to the end.
	code, out, errs := call(t, strings.Repeat("bad\n", 19)+e+"\n"+lines+e+"\n", nil, "import", "--data", t.TempDir(), "--git=false", "--domain", "relay.example.org", "--disk-floor", "0", "-")
	if code != exitOK || !strings.Contains(out, "stored 1, known before 1, refused by the rules 0, forged 0, unreadable 1019\n") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}
