package admin

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/nip19"
)

// Reports lists what people report (NIP-56), and carries out the operator's decisions about it.
type Reports interface {
	Open() []moderation.Reported
	Remove(ctx context.Context, s moderation.Subject, by, why string) (moderation.Case, error)
	Dismiss(ctx context.Context, s moderation.Subject, by, why string) error
}

// ReportQueue is the document /reports.json: the open reports, the newest first.
type ReportQueue struct {
	Open     int                   `json:"open"`     // open reports
	Subjects int                   `json:"subjects"` // subjects of the open reports
	Reported []moderation.Reported `json:"reported"` // at most 1,000 of the subjects; in status.json 10
}

// Bounds of the subjects that documents and pages list.
const (
	mostReported      = 1000
	mostReportedShown = 20
	mostReportedTold  = 10
)

func (c Config) handleReports(m *routes) {
	m.handle("GET /reports.json", func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, *c.queue(mostReported)) })
	m.handle("POST /remove", c.proven(let, c.removeReported))
	m.handle("POST /dismiss", c.proven(let, c.dismissReported))
}

// queue returns the open reports, with at most so many subjects; nil where the relay keeps no reports.
func (c Config) queue(most int) *ReportQueue {
	if c.Reports == nil {
		return nil
	}
	list := c.Reports.Open()
	q := &ReportQueue{Subjects: len(list), Reported: append([]moderation.Reported{}, list[:min(most, len(list))]...)}
	for _, x := range list {
		q.Open += x.Reports
	}
	for i := range q.Reported {
		x := &q.Reported[i]
		x.Title, x.LastBy = c.title(x.Subject), c.title(moderation.Of(x.Last.By))
	}
	return q
}

// reportedOf returns the subject that a form names. It answers itself, and returns false, where the form names none.
func reportedOf(w http.ResponseWriter, r *http.Request) (moderation.Subject, bool) {
	s, err := moderation.ParseSubject(r.FormValue("subject"))
	if err != nil {
		answer(w, http.StatusBadRequest, "subject: "+err.Error())
	}
	return s, err == nil
}

func (c Config) removeReported(w http.ResponseWriter, r *http.Request) {
	s, ok := reportedOf(w, r)
	if !ok {
		return
	}
	x, err := c.Reports.Remove(r.Context(), s, operatorOf(r), r.FormValue("reason"))
	c.decided(w, r, x, err)
}

func (c Config) dismissReported(w http.ResponseWriter, r *http.Request) {
	s, ok := reportedOf(w, r)
	if !ok {
		return
	}
	switch err := c.Reports.Dismiss(r.Context(), s, operatorOf(r), r.FormValue("reason")); {
	case err != nil:
		answer(w, http.StatusConflict, err.Error())
	case r.FormValue("back") != "":
		backToOverview(w)
	default:
		answer(w, http.StatusOK, "dismissed")
	}
}

// reportedView is one reported subject on the page.
type reportedView struct {
	moderation.Reported
	When time.Time
	By   string // who reported it last
	Link string // to the public page of the subject; "" is none
	Why  string
}

// reportedViews returns the reported subjects that the page shows.
func (c Config) reportedViews(q *ReportQueue) (out []reportedView) {
	if q == nil {
		return nil
	}
	for _, x := range q.Reported[:min(mostReportedShown, len(q.Reported))] {
		out = append(out, reportedView{Reported: x, When: time.Unix(x.Last.At, 0), By: nip19.Npub(x.Last.By), Link: c.linkTo(x.Subject), Why: strings.Join(x.Kinds, ", ")})
	}
	return out
}

// linkTo returns the link to the public page of a subject; "" is none.
func (c Config) linkTo(s moderation.Subject) string {
	if c.Git == nil {
		return "" // there are none
	}
	switch s.Sort {
	case moderation.Event:
		return "http" + strings.TrimSuffix(strings.TrimPrefix(string(c.URL), "ws"), "/") + "/" + nip19.Note(s.ID)
	case moderation.Repository:
		page, _ := c.URL.Source(s.PubKey, s.D)
		return string(page)
	}
	return ""
}

type operatorKey struct{}

// AsOperator notes in the context of a request who makes it, for the journal. name counts before what the request says itself.
func AsOperator(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, operatorKey{}, name)
}

// operatorOf names who makes a request.
func operatorOf(r *http.Request) string {
	if name, ok := r.Context().Value(operatorKey{}).(string); ok {
		return name
	}
	return r.FormValue("by")
}

// backToOverview redirects a browser without script. The link is relative, as the pages may stand anywhere.
func backToOverview(w http.ResponseWriter) {
	w.Header().Set("Location", "./")
	w.WriteHeader(http.StatusSeeOther)
}
