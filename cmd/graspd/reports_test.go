package main

import (
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestAReportAsItsPeopleSeeIt: somebody reports an issue; graspd status and graspd reports tell, the operator dismisses it and takes
// another thing away, and the journal has both.
func TestAReportAsItsPeopleSeeIt(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	us := serve(t, "--data", data, "--git=false", "--sync=false", "--domain", "relay.example.org", "--admin-listen", "127.0.0.1:0")
	at := us.out.await(t, `at (http://\S+)/status.json\n`)
	now := time.Now().Unix()
	announcement := testkit.Announcement(testkit.Key(1), now-100, "proj", "wss://relay.example.org")
	owner, reporter := testkit.Key(1).PubKey().String(), testkit.Key(2)
	one := testkit.Sign(reporter, now-10, 1984, "not theirs\x1b[2J", []string{"p", owner, "impersonation"})
	two := testkit.Sign(reporter, now-9, 1984, "bad", []string{"e", hex.EncodeToString(announcement.ID[:]), "malware"}, []string{"p", owner})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, _, err := websocket.Dial(ctx, string(us.url), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	for _, e := range [][]byte{announcement.AppendJSON(nil), one.AppendJSON(nil), two.AppendJSON(nil)} {
		if err := c.Write(ctx, websocket.MessageText, []byte(`["EVENT",`+string(e)+`]`)); err != nil {
			t.Fatal(err)
		}
		for {
			_, b, err := c.Read(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(string(b), `["OK"`) {
				if !strings.Contains(string(b), ",true,") {
					t.Fatalf("%s", b)
				}
				break
			}
		}
	}
	author, event := "author "+owner, "event "+hex.EncodeToString(announcement.ID[:])
	us.logs.await(t, `(?s)somebody has reported.*(somebody has reported)`)
	_, out, _ := call(t, "", nil, "reports", "--admin", at)
	if !strings.Contains(out, "malware") || !strings.Contains(out, "impersonation") {
		t.Errorf("graspd reports: %s", out)
	}
	if !strings.Contains(out, author) || !strings.Contains(out, event) || strings.Contains(out, "\x1b") {
		t.Errorf("graspd reports: %q", out)
	}
	if _, out, _ := call(t, "", nil, "status", "--admin", at); !strings.Contains(out, "2 reports wait for your decision, about 2") {
		t.Errorf("graspd status: %s", out)
	}
	if code, b := fetch(t, at+"/metrics"); code != http.StatusOK || !strings.Contains(string(b), "\ngraspd_reports_open 2\n") || !strings.Contains(string(b), "\ngraspd_reports_subjects 2\n") {
		t.Errorf("metrics: %d", code)
	}
	for _, tt := range []struct {
		args []string
		code int
		said string
	}{
		{[]string{"--dismiss", author, "--reason", "known to us"}, exitOK, "dismissed"},
		{[]string{"--dismiss", author}, exitFail, "no report about it is open"},
		{[]string{"--dismiss", "nonsense"}, exitUsage, "want an author"},
		{[]string{"--dismiss", author, "--remove", event}, exitUsage, "not both"},
		{[]string{"--remove", event}, exitOK, "graspd accepts nothing of it any more"},
		{nil, exitOK, "no reports are open"},
		{[]string{"--json"}, exitOK, `{"open":0,"subjects":0,"reported":[]}`},
	} {
		code, out, errs := call(t, "", nil, append([]string{"reports", "--admin", at, "--data", data}, tt.args...)...)
		if code != tt.code || !strings.Contains(out+errs, tt.said) {
			t.Errorf("%q: %d %s%s", tt.args, code, out, errs)
		}
	}
	if _, out, _ := call(t, "", nil, "journal", "--admin", at); !strings.Contains(out, "known to us; reported as impersonation by npub1") || !strings.Contains(out, "reported as malware by npub1") {
		t.Errorf("graspd journal: %s", out)
	}
}

// TestDocumentsArePassedOnAsTheyAre: --json prints what the relay answers, with what this graspd does not know.
func TestDocumentsArePassedOnAsTheyAre(t *testing.T) {
	const document = "{\n  \"open\": 0,\n  \"of a later version\": \"<&>\"\n}\n"
	asked := ""
	relay := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked += r.URL.Path + " "
		_, _ = io.WriteString(w, document)
	}))
	t.Cleanup(relay.Close)
	for _, command := range []string{"reports", "journal"} {
		if code, out, errs := call(t, "", nil, command, "--json", "--admin", relay.URL); code != exitOK || out != document {
			t.Errorf("%s: %d %q %s", command, code, out, errs)
		}
	}
	if asked != "/reports.json /journal.json " {
		t.Error(asked)
	}
}

// TestReportsFitTheTerminal: whatever its width, what is to be pasted stays whole, and nothing else is wider.
func TestReportsFitTheTerminal(t *testing.T) {
	key := testkit.Key(1).PubKey()
	subject, err := moderation.ParseSubject("author " + key.String())
	if err != nil {
		t.Fatal(err)
	}
	q := admin.ReportQueue{Open: 3, Subjects: 1, Reported: []moderation.Reported{{
		Subject: subject, Kinds: []string{"spam", "malware"}, Reports: 3, People: 2, Last: moderation.Report{By: testkit.Key(2).PubKey(), Text: strings.Repeat("so much of it ", 12)},
	}}}
	for _, width := range []int{0, 60, 80, 100, 1000} {
		var out strings.Builder
		if err := printReports(&out, q, width); err != nil {
			t.Fatal(err)
		}
		if wide := width == 0 || width == 1000; wide != strings.Contains(out.String(), "REPORTED AS") || !strings.Contains(out.String(), subject.String()) || !strings.Contains(out.String(), "so much of it") {
			t.Errorf("%d characters: %s", width, &out)
		}
		for line := range strings.Lines(out.String()) {
			if n := len(strings.TrimSpace(line)); width > 0 && n > max(width, len(subject.String())) {
				t.Errorf("%d characters where there is room for %d: %s", n, width, line)
			}
		}
	}
}
