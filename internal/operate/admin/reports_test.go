package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// desk is moderation and reports, in memory.
type desk struct {
	open  []moderation.Reported
	notes []string
}

func (d *desk) Preview(context.Context, moderation.Subject) (moderation.Preview, error) {
	return moderation.Preview{}, nil
}
func (d *desk) Bar(_ context.Context, o moderation.Order) (moderation.Case, error) {
	d.notes = append(d.notes, "bar "+o.Subject.String()+" by "+o.By)
	return moderation.Case{N: 1, Subject: o.Subject, State: moderation.Aside}, nil
}
func (d *desk) Lift(_ context.Context, n uint64, by, _ string) (moderation.Case, error) {
	d.notes = append(d.notes, "lift by "+by)
	return moderation.Case{N: n, State: moderation.Left}, nil
}
func (d *desk) Await(_ context.Context, n uint64) moderation.Case { return moderation.Case{N: n} }
func (d *desk) Cases() []moderation.Case                          { return nil }
func (d *desk) Journal(int) ([]moderation.Entry, error)           { return nil, nil }
func (d *desk) Repositories(id nostr.ID) []nip34.Address {
	if id == (nostr.ID{7}) {
		return []nip34.Address{{Kind: nip34.KindRepository, PubKey: testkit.Key(1).PubKey(), D: "tool"}}
	}
	return nil
}
func (d *desk) Title(s moderation.Subject) string { return "called <" + s.String()[:3] + ">" }
func (d *desk) Open() []moderation.Reported       { return d.open }
func (d *desk) Remove(ctx context.Context, s moderation.Subject, by, why string) (moderation.Case, error) {
	if !d.has(s) {
		return moderation.Case{}, errors.New("not open")
	}
	return d.Bar(ctx, moderation.Order{Subject: s, By: by, Why: why})
}
func (d *desk) Dismiss(_ context.Context, s moderation.Subject, by, why string) error {
	if !d.has(s) {
		return errors.New("not open")
	}
	d.notes = append(d.notes, "dismiss "+s.String()+" by "+by+": "+why)
	return nil
}
func (d *desk) has(s moderation.Subject) bool {
	return slices.ContainsFunc(d.open, func(x moderation.Reported) bool { return x.Subject == s })
}

func reported(s moderation.Subject, text string) moderation.Reported {
	return moderation.Reported{Subject: s, Reports: 3, People: 2, Kinds: []string{"malware", "spam"}, Last: moderation.Report{Subject: s, By: testkit.Key(3).PubKey(), Text: text, At: 1_700_000_000}}
}

// TestReports: the page shows them with their buttons and nobody's markup, programs get them, and both ways of deciding work.
func TestReports(t *testing.T) {
	author := moderation.Of(testkit.Key(1).PubKey())
	event := moderation.Subject{Sort: moderation.Event}
	event.ID[0] = 7
	repository := moderation.At(nip34.Address{Kind: nip34.KindRepository, PubKey: author.PubKey, D: "a tool"})
	d := &desk{open: []moderation.Reported{reported(event, "<b>look</b>"), reported(author, ""), reported(repository, "")}}
	for range 19 {
		event.ID[1]++
		d.open = append(d.open, reported(event, ""))
	}
	c := here
	c.Moderation, c.Reports, c.Git = d, d, host{}
	page := getAsOperator(t, c, "/")
	for _, want := range []string{
		"<h2>Reports ", d.open[0].Subject.String(), author.String(), "malware, spam", "&lt;b&gt;look&lt;/b&gt;", `action="remove"`, `action="dismiss"`, "<b>called &lt;eve&gt;</b>", "<b>called &lt;aut&gt;</b>", `href="https://relay.example.org/note1`, `href="https://relay.example.org/` + nip19.Npub(author.PubKey) + `/a%20tool.git"`, "and 2 more",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	var q admin.ReportQueue
	if err := json.Unmarshal(get(t, c, "GET", "/reports.json").Body.Bytes(), &q); err != nil || q.Open != 66 || q.Subjects != 22 || len(q.Reported) != 22 {
		t.Errorf("%+v, %v", q, err)
	}
	var s admin.Status
	if err := json.Unmarshal(get(t, c, "GET", "/status.json").Body.Bytes(), &s); err != nil || s.Reports == nil || s.Reports.Open != 66 || len(s.Reports.Reported) != 10 {
		t.Errorf("%+v, %v", s.Reports, err)
	}
	for _, tt := range []struct {
		path string
		form url.Values
		code int
		said string
	}{
		{"/dismiss", url.Values{"subject": {author.String()}, "by": {"me"}, "reason": {"fine"}}, 200, "dismissed\n"},
		{"/dismiss", url.Values{"subject": {author.String()}, "back": {"1"}}, 303, ""},
		{"/dismiss", url.Values{"subject": {"author nobody"}}, 400, ""},
		{"/dismiss", url.Values{"subject": {moderation.Of(testkit.Key(2).PubKey()).String()}}, 409, "not open\n"},
		{"/remove", url.Values{"subject": {author.String()}, "by": {"me"}}, 200, ""},
		{"/remove", url.Values{"subject": {author.String()}, "back": {"1"}}, 303, ""},
		{"/remove", url.Values{}, 400, ""},
		{"/remove", url.Values{"subject": {moderation.Of(testkit.Key(2).PubKey()).String()}}, 409, "not open\n"},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, tt.path, strings.NewReader(tt.form.Encode()))
		r.Host = "127.0.0.1:7335"
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		admin.New(c).ServeHTTP(w, throughSocket(r))
		if w.Code != tt.code || tt.said != "" && w.Body.String() != tt.said || tt.code == 303 && w.Header().Get("Location") != "./" {
			t.Errorf("%s %v: %d %s", tt.path, tt.form, w.Code, w.Body)
		}
	}
	want := []string{"dismiss " + author.String() + " by me: fine", "dismiss " + author.String() + " by : ", "bar " + author.String() + " by me", "bar " + author.String() + " by "}
	if !slices.Equal(d.notes, want) {
		t.Errorf("%q", d.notes)
	}
	d.open = nil
	if page := get(t, c, "GET", "/").Body.String(); strings.Contains(page, "<h2>Reports") {
		t.Error("the page tells of reports where there are none")
	}
}
