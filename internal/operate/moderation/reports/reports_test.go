package reports_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/operate/moderation/reports"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestAReportIsRemoved: what was reported goes through the moderation door, and the journal says that it was a report and whose.
func TestAReportIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, issue := w.repository()
		w.must(w.report("carol", issue, "spam"), w.report("dave", issue, "malware"), w.report("carol", issue, "spam"))
		x := w.open(1)[0]
		if x.Subject != moderation.One(issue.ID) || x.Reports != 3 || x.People != 2 || strings.Join(x.Kinds, " ") != "malware spam" || x.Last.By != key("carol") || x.Last.Text != "look" {
			t.Errorf("%+v", x)
		}
		c, err := w.desk.Remove(t.Context(), x.Subject, "the operator", "")
		if err != nil {
			t.Fatal(err)
		}
		if c = w.mod.Await(t.Context(), c.N); c.State != moderation.Aside || w.has(issue) {
			t.Errorf("%+v", c)
		}
		w.open(0)
		j, err := w.mod.Journal(1)
		if err != nil || j[0].Did != moderation.Deleted || j[0].By != "the operator" || !strings.HasPrefix(j[0].Why, "reported as malware, spam by npub") ||
			!strings.Contains(j[0].Why, nip19.Npub(key("carol"))) || !strings.Contains(j[0].Why, nip19.Npub(key("dave"))) || !strings.HasSuffix(j[0].Why, ": look") {
			t.Errorf("%+v, %v", j, err)
		}
		if _, err := w.desk.Remove(t.Context(), x.Subject, "the operator", ""); !errors.Is(err, reports.ErrNone) {
			t.Errorf("again: %v", err)
		}
	})
}

// TestADismissedReportDoesNotComeBack, after a restart neither, though it is served still; another one about the same may come.
func TestADismissedReportDoesNotComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, issue := w.repository()
		first := w.report("carol", issue, "spam")
		w.must(first)
		s := w.open(1)[0].Subject
		if err := w.desk.Dismiss(t.Context(), s, "the operator", "it is fine"); err != nil {
			t.Fatal(err)
		}
		w.open(0)
		if err := w.desk.Dismiss(t.Context(), s, "the operator", ""); !errors.Is(err, reports.ErrNone) {
			t.Errorf("again: %v", err)
		}
		j, err := w.mod.Journal(1)
		if err != nil || j[0].Did != moderation.Settled || j[0].Subject != s.String() || j[0].Why != "it is fine; reported as spam by "+nip19.Npub(key("carol")) {
			t.Errorf("%+v, %v", j, err)
		}
		w.start()
		if list := w.desk.Open(); len(list) != 0 || !w.has(first) || !w.has(issue) {
			t.Errorf("after a restart: %+v", list)
		}
		illegal := w.report("dave", issue, "illegal")
		w.must(illegal)
		if x := w.open(1)[0]; x.Reports != 1 || x.Last.By != key("dave") {
			t.Errorf("%+v", x)
		}
		w.start()
		if x := w.open(1)[0]; x.Reports != 1 || x.Last.By != key("dave") {
			t.Errorf("after another restart: %+v", x)
		}
		w.must(w.event("dave", nostr.KindDeletion, "", nostr.Tag{"e", illegal.ID.String()}))
		w.open(0)
	})
}

// TestReportsOfWhatIsHere: of authors, repositories and events, as long as these are here, and of nobody else.
func TestReportsOfWhatIsHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		announcement, issue := w.repository()
		of := func(name string) *nostr.Event {
			return w.event("carol", nostr.KindReport, "", nostr.Tag{"p", key(name).String(), "impersonation"})
		}
		w.must(of("alice"), w.event("carol", nostr.KindReport, "", nostr.Tag{"a", announcement.Address(), "malware"}), w.report("carol", issue, "spam"))
		if v := w.say(w.client, of("nobody")); v.Outcome != policy.Unrelated {
			t.Errorf("of a stranger: %v", v)
		}
		list := w.open(3)
		for i, want := range []moderation.Subject{moderation.One(issue.ID), {Sort: moderation.Repository, PubKey: key("alice"), D: "d"}, moderation.Of(key("alice"))} {
			if list[i].Subject != want {
				t.Errorf("%d: %v, want %v", i, list[i].Subject, want)
			}
		}
		w.must(w.event("bob", nostr.KindDeletion, "", nostr.Tag{"e", issue.ID.String()}))
		w.open(2)
		w.start()
		if n := len(w.desk.Open()); n != 2 {
			t.Errorf("after a restart %d are open", n)
		}
		if _, err := w.desk.Remove(t.Context(), moderation.Of(key("alice")), "the operator", ""); err != nil {
			t.Fatal(err)
		}
		for _, x := range w.desk.Open() {
			if x.Subject == moderation.Of(key("alice")) {
				t.Error("who is barred is listed still")
			}
		}
		w.open(0)
	})
}

// TestTooManyReportsOfOneAuthor: the oldest leave, by when they were made.
func TestTooManyReportsOfOneAuthor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, issue := w.repository()
		other := w.report("dave", issue, "spam")
		w.must(other)
		var all []*nostr.Event
		for range moderation.MaxReportsByAuthor + 3 {
			all = append(all, w.report("carol", issue, "spam"))
		}
		for i := range all { // the newest comes first
			w.must(all[len(all)-1-i])
		}
		time.Sleep(10 * time.Second)
		for i, e := range all {
			if w.has(e) != (i >= 3) {
				t.Errorf("%d is here: %v", i, w.has(e))
			}
		}
		if x := w.open(1)[0]; x.Reports != moderation.MaxReportsByAuthor+1 || !w.has(other) {
			t.Errorf("%+v", x)
		}
	})
}

// TestOneAddressSendsFewReports, and other relays bring as many as there are.
func TestOneAddressSendsFewReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, issue := w.repository()
		w.must(w.report("erin", issue, "spam"))
		taken := 0
		var last policy.Verdict
		for i := range 70 {
			if last = w.say(w.client, w.report(string(rune('a'+i)), issue, "spam")); last.OK() {
				taken++
			}
		}
		if taken != ingest.ReportBurst || !strings.HasPrefix(last.Reason, "rate-limited: ") {
			t.Errorf("%d were taken, then %q", taken, last.Reason)
		}
		w.must(w.report("frank", issue, "spam"))
	})
}
