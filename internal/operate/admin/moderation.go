package admin

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Moderation previews, carries out and lists what the operator decides. Its methods are those of moderator.Moderator.
type Moderation interface {
	Preview(ctx context.Context, s moderation.Subject) (moderation.Preview, error)
	Bar(ctx context.Context, o moderation.Order) (moderation.Case, error)
	Lift(ctx context.Context, n uint64, by, why string) (moderation.Case, error)
	Await(ctx context.Context, n uint64) moderation.Case
	Cases() []moderation.Case
	Journal(most int) ([]moderation.Entry, error)
	Title(s moderation.Subject) string
	Repositories(id nostr.ID) []nip34.Address
}

// Journal is the document /journal.json: what the operator decided, the newest first.
type Journal struct {
	Entries []moderation.Entry `json:"entries"`
}

// Cases is the document /cases.json: what the operator has taken away and what is kept aside, the newest first.
type Cases struct {
	Cases []moderation.Case `json:"cases"`
}

// previewTime bounds how long a preview may take.
const previewTime = time.Minute

func (c Config) handleModeration(m *routes) {
	m.handle("GET /deletion.json", c.preview)
	m.handle("POST /delete", c.proven(let, c.delete))
	m.handle("POST /restore", c.proven(let, c.restore))
	m.handle("GET /journal.json", c.journal)
	m.handle("GET /cases.json", func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, Cases{c.Moderation.Cases()}) })
}

// title returns what people call a subject, to stand beside it; "" where nobody knows.
func (c Config) title(s moderation.Subject) string {
	if c.Moderation == nil {
		return ""
	}
	return c.Moderation.Title(s)
}

// about returns the repositories that an event is about.
func (c Config) about(id nostr.ID) []nip34.Address {
	if c.Moderation == nil {
		return nil
	}
	return c.Moderation.Repositories(id)
}

// subjectOf returns the one subject that a form names.
func subjectOf(r *http.Request) (s moderation.Subject, err error) {
	named := 0
	for name, parse := range map[string]func(string) (moderation.Subject, error){
		"author": moderation.ParseAuthor, "repository": moderation.ParseRepository, "event": moderation.ParseEvent,
	} {
		if text := r.FormValue(name); text != "" {
			var failed error
			s, failed = parse(text)
			err, named = cmp.Or(err, failed), named+1
		}
	}
	if named != 1 {
		return s, errors.New("want one of author, repository and event")
	}
	return s, err
}

func (c Config) preview(w http.ResponseWriter, r *http.Request) {
	s, err := subjectOf(r)
	if err != nil {
		answer(w, http.StatusBadRequest, err.Error())
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), previewTime)
	defer cancel()
	p, err := c.Moderation.Preview(ctx, s)
	if err != nil {
		answer(w, http.StatusInternalServerError, err.Error())
		return
	}
	answerJSON(w, p)
}

func (c Config) delete(w http.ResponseWriter, r *http.Request) {
	s, err := subjectOf(r)
	o := moderation.Order{Subject: s, By: operatorOf(r), Why: r.FormValue("reason")}
	if keep := r.FormValue("keep"); err == nil && keep != "" {
		o.Keep, err = time.ParseDuration(keep)
	}
	if err == nil {
		err = o.Fit()
	}
	if err != nil {
		answer(w, http.StatusBadRequest, err.Error())
		return
	}
	x, err := c.Moderation.Bar(r.Context(), o)
	c.decided(w, r, x, err)
}

func (c Config) restore(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.ParseUint(r.FormValue("case"), 10, 64)
	if err != nil {
		answer(w, http.StatusBadRequest, "case: want its number")
		return
	}
	x, err := c.Moderation.Lift(r.Context(), n, operatorOf(r), r.FormValue("reason"))
	c.decided(w, r, x, err)
}

// decided answers with a case, once it is neither being cleared nor put back, or patience is over.
func (c Config) decided(w http.ResponseWriter, r *http.Request, x moderation.Case, err error) {
	switch {
	case err != nil:
		answer(w, http.StatusConflict, err.Error())
		return
	case r.FormValue("back") != "": // the button of the page, without script
		backToOverview(w)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	if now := c.Moderation.Await(ctx, x.N); now.N == 0 {
		x.State, x.Events, x.Bytes = "", nil, 0
	} else {
		x = now
	}
	answerJSON(w, x)
}

// journal answers with the last entries. The parameter most says how many.
func (c Config) journal(w http.ResponseWriter, r *http.Request) {
	most := 100
	if s := r.FormValue("most"); s != "" {
		var err error
		if most, err = strconv.Atoi(s); err != nil || most < 1 || most > moderation.MaxEntries {
			answer(w, http.StatusBadRequest, "most: want a number from 1 to "+strconv.Itoa(moderation.MaxEntries))
			return
		}
	}
	list, err := c.Moderation.Journal(most)
	if err != nil {
		answer(w, http.StatusInternalServerError, err.Error())
		return
	}
	answerJSON(w, Journal{append([]moderation.Entry{}, list...)})
}

// mostDecisions is how many entries of the journal the page shows.
const mostDecisions = 20

// decision is one entry of the journal on the page.
type decision struct {
	moderation.Entry
	When  time.Time
	Count int
	Lifts bool // the page offers to restore it
}

// decisions returns the last entries of the journal, for the page.
func (c Config) decisions() ([]decision, error) {
	list, err := c.Moderation.Journal(mostDecisions)
	if err != nil {
		return nil, err
	}
	open := map[uint64]bool{}
	for _, x := range c.Moderation.Cases() {
		open[x.N] = !x.List && x.State != moderation.Returning
	}
	out := make([]decision, 0, len(list))
	for _, x := range list {
		d := decision{Entry: x, When: time.Unix(x.At, 0), Lifts: x.Did == moderation.Deleted && open[x.Case]}
		for _, n := range x.Events {
			d.Count += int(n)
		}
		out = append(out, d)
	}
	return out, nil
}
