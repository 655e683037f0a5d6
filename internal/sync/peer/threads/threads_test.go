package threads

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/mailbox"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/reqfilter"
	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// rounds is an inquiry at a relay of which one repository with some issues is wanted.
type rounds struct {
	Inquiry
	t     *testing.T
	terms Facts
	now   time.Duration
	page  Reached // what every walk reaches
	lacks bool    // the relay gives nothing by id
	steps []string
}

func newRounds(t *testing.T, issues int64, m *mailbox.Mailbox) *rounds {
	f := wanttest.NewFold(t)
	f.AddAll(f.Announce(wanttest.Key(0), "x", 1, []string{wanttest.Us, wanttest.Relay(1)}))
	for at := range issues {
		f.AddAll(f.Issue(at, wanttest.Address(wanttest.Key(0), "x")))
	}
	f.Step()
	w := f.Wants[want.URL(wanttest.Relay(1))].WithMailbox(m)
	r := &rounds{t: t, terms: Facts{Want: w, Wanted: new(itemset.Bag), Bounds: reqfilter.Bounds{Values: 100}}}
	for _, it := range wanttest.Items(w) {
		r.terms.Wanted.Add(it)
	}
	return r
}

func (r *rounds) came(nostr.ID) bool { return !r.lacks }

// begin begins a round that is due again a day later.
func (r *rounds) begin() {
	r.t.Helper()
	if !r.Ready(r.now, true) {
		r.t.Fatal("no round is due")
	}
	r.Begin(r.now+24*time.Hour, r.terms.Want, 0)
}

// step takes the next step as soon as there is one.
func (r *rounds) step() Order {
	r.t.Helper()
	s := r.Next(r.now, r.terms)
	for s == (Order{}) {
		at := r.Wake(r.now)
		if at <= r.now || at > r.now+time.Hour {
			r.t.Fatalf("at %v nothing is to be done, and that is looked at again at %v", r.now, at)
		}
		r.now = at
		s = r.Next(r.now, r.terms)
	}
	r.steps = append(r.steps, told(s))
	return s
}

// rest takes the steps up to the end of the round, all of which succeed.
func (r *rounds) rest() *End {
	r.t.Helper()
	for {
		switch s := r.step(); {
		case s.Walk != nil:
			r.Surveyed(r.page)
		case s.Ask != nil:
			r.Sent()
			r.Answered(r.came)
		case s.Ended != nil:
			return s.Ended
		}
	}
}

// told is a step in short.
func told(s Order) string {
	switch {
	case s.Walk != nil:
		return fmt.Sprintf("read about %d", len(s.Walk.IDs)+len(s.Walk.Addresses))
	case s.GoOn:
		return "go on"
	case s.Ended != nil:
		return fmt.Sprintf("ended after %d %s", s.Ended.Steps, s.Ended.Why)
	case s.Ask == nil:
		return "nothing"
	case s.Ask.Tags != nil:
		return fmt.Sprintf("#%c of %d", s.Ask.Tags[0].Name, len(s.Ask.Tags[0].Values))
	case s.Ask.IDs != nil:
		return fmt.Sprintf("%d ids", len(s.Ask.IDs))
	}
	return fmt.Sprintf("kinds %v by %d", s.Ask.Kinds, len(s.Ask.Authors))
}

func (r *rounds) expect(steps ...string) {
	r.t.Helper()
	if got, want := strings.Join(r.steps, "; "), strings.Join(steps, "; "); got != want {
		r.t.Errorf("took the steps\n%s\nnot\n%s", got, want)
	}
}

func ids(from, to byte) (out []nostr.ID) {
	for i := from; i < to; i++ {
		out = append(out, nostr.ID{i})
	}
	return out
}

func people(n int) *mailbox.Mailbox {
	m := new(mailbox.Mailbox)
	for i := range n {
		m.People = append(m.People, mailbox.Person{PubKey: nostr.PubKey{9, byte(i >> 8), byte(i)}, IDs: ids(1, 3)})
	}
	return m
}

// What is missing is fetched before what names it is asked for; authors come at the end, and then what the relay is asked on behalf of people.
func TestTheOrderOfSteps(t *testing.T) {
	r := newRounds(t, 3, people(2))
	r.page = Reached{IDs: ids(1, 5), Missing: ids(7, 9), Authors: []nostr.PubKey{{1}, {2}, {1}}}
	r.terms.Lists = true
	r.begin()
	if s := r.step(); s.Walk == nil {
		t.Fatalf("began with %v", r.steps)
	}
	r.Surveyed(r.page)
	r.page = Reached{}
	r.rest()
	r.expect("read about 5", "2 ids", "#e of 6", "read about 5", "kinds [0 5 62 10002 10317] by 2",
		"kinds [0 62 10002 10317] by 2", "kinds [1111 1617 1618 1619 1621 1622 1624 1630 1631 1632 1633 1985 30617 30618] by 2", "#e of 2", "#q of 2", "ended after 9 ")
	if r.Active() || r.At() != 24*time.Hour || r.now != 9*Pace {
		t.Errorf("at %v: active %v, due at %v", r.now, r.Active(), r.At())
	}
}

// What did not come by its id is not asked about.
func TestWhatDoesNotComeIsNotAskedAbout(t *testing.T) {
	r := newRounds(t, 0, nil)
	r.lacks = true
	r.begin()
	r.step()
	r.Surveyed(Reached{Missing: ids(7, 9), Authors: []nostr.PubKey{{1}}})
	r.rest()
	r.expect("read about 2", "2 ids", "read about 2", "kinds [0 5 62] by 1", "ended after 4 ")
}

// As many authors as one filter takes are asked for at once, and what names more ids than that in several questions.
func TestPortions(t *testing.T) {
	r := newRounds(t, 0, nil)
	r.terms.Bounds.Values = 3
	r.begin()
	r.step()
	r.Surveyed(Reached{IDs: ids(1, 6), Authors: []nostr.PubKey{{1}, {2}, {3}, {4}}})
	r.rest()
	r.expect("read about 2", "#e of 3", "#e of 2", "kinds [0 5 62] by 3", "read about 2", "kinds [0 5 62] by 1", "ended after 6 ")
}

// An outsider is asked on behalf of people only.
func TestAnOutsider(t *testing.T) {
	r := newRounds(t, 3, people(1))
	r.terms.Outsider = true
	r.begin()
	r.rest()
	if len(r.steps) != 5 || slices.ContainsFunc(r.steps, func(s string) bool { return strings.HasPrefix(s, "read") }) {
		t.Errorf("took the steps %v", r.steps)
	}
}

// A round has its budget, of which a quarter is for the mailbox; the next one goes on where it ended.
func TestTheBudget(t *testing.T) {
	for _, x := range []struct {
		m    *mailbox.Mailbox
		read int // walks
		most int // steps
	}{{nil, MostSteps, MostSteps}, {people(20000), MostSteps * 3 / 4, MostSteps}} {
		r := newRounds(t, 1200, x.m)
		r.page = Reached{Full: true} // two items are too much, and then one of them is gone through
		r.begin()
		end := r.rest()
		read := 0
		for _, s := range r.steps {
			if strings.HasPrefix(s, "read") {
				read++
			}
		}
		if end.Why != "budget used up" || end.Steps != x.most || read != x.read || r.now != time.Duration(x.most-1)*Pace {
			t.Errorf("%d walks, %+v, at %v", read, end, r.now)
		}
		r.now = r.At()
		from := r.tour.from
		r.begin()
		if s := r.step(); s.Walk == nil || s.Walk.Addresses != nil || r.tour.from <= from || r.tour.from > from+2 {
			t.Errorf("the next round begins with %v, behind %d", told(s), from)
		}
	}
}

// Three failures in a row end a round, and so do three requests to slow down.
func TestNotWelcome(t *testing.T) {
	for _, x := range []struct {
		name string
		fail func(r *rounds)
		wait time.Duration
		last string // of the steps that the next round begins with
	}{
		{"not answered", func(r *rounds) { r.Unanswered(r.now, r.came) }, time.Minute, "read about 3"},
		{"slower", func(r *rounds) { r.Slower(); r.Drop() }, Pace, "#e of 2"},
	} {
		r := newRounds(t, 1, nil)
		r.begin()
		r.step()
		r.Surveyed(Reached{IDs: ids(1, 3)})
		for range 2 {
			r.step()
			x.fail(r)
		}
		if x.name == "not answered" {
			r.step()
			r.Answered(r.came) // and what failed before counts no more
			r.step()
			r.Surveyed(Reached{IDs: ids(1, 5)})
			for range 2 {
				r.step()
				x.fail(r)
			}
		}
		began := r.now
		r.step()
		if r.now-began != x.wait {
			t.Errorf("%s: asked again after %v", x.name, r.now-began)
		}
		x.fail(r)
		if s := r.Next(r.now, r.terms); s.Ended == nil || s.Ended.Why != "not welcome" {
			t.Errorf("%s: then %s", x.name, told(s))
		}
		r.now = r.At()
		r.begin()
		if s := r.step(); told(s) != x.last {
			t.Errorf("%s: the next round begins with %s", x.name, told(s))
		}
	}
}

// A walk that fails is begun again in a while, and ends the round the third time.
func TestAStoreThatCannotBeRead(t *testing.T) {
	r := newRounds(t, 1, nil)
	r.begin()
	for n := range 3 {
		if s := r.step(); s.Walk == nil || r.now != time.Duration(n)*storeRetry {
			t.Fatalf("%v at %v", told(s), r.now)
		}
		if s := r.Next(r.now+time.Hour, r.terms); s != (Order{}) || r.Wake(r.now) != backoff.Never {
			t.Fatalf("while a walk is under way: %s", told(s))
		}
		r.Unread(r.now)
	}
	if s := r.Next(r.now, r.terms); s.Ended == nil {
		t.Errorf("then %s", told(s))
	}
}

// A question has its share of requests; one for people that was given up is asked of half as many each.
func TestAQuestionWithoutEnd(t *testing.T) {
	r := newRounds(t, 0, people(20))
	r.terms.Outsider = true
	r.begin()
	s := r.step()
	for n := range MostRequests {
		if r.Spent() {
			t.Fatalf("spent after %d", n)
		}
		r.Sent()
	}
	if !r.Spent() || len(s.Ask.Authors) != 20 {
		t.Fatal("asked without end")
	}
	r.GiveUp(r.came)
	r.rest()
	if n := len(r.steps); n != 7 || !strings.HasSuffix(r.steps[n-2], "by 10") || !strings.HasSuffix(r.steps[n-3], "by 10") {
		t.Errorf("took the steps %v", r.steps)
	}
}

// A question that is put back goes on in its turn, whatever the pace; nothing else is done before.
func TestPutBack(t *testing.T) {
	r := newRounds(t, 0, people(1))
	r.terms.Outsider = true
	r.begin()
	r.step()
	if s := r.Next(r.now+time.Hour, r.terms); s != (Order{}) || !r.Asking() || r.Wake(r.now) != backoff.Never {
		t.Fatalf("while a question is asked: %s", told(s))
	}
	r.PutBack()
	if r.Asking() || r.Wake(r.now) != backoff.Never {
		t.Error("what was put back is asked")
	}
	if s := r.Next(r.now, r.terms); !s.GoOn || !r.Asking() {
		t.Errorf("then %s", told(s))
	}
	if r.Drop(); r.Asking() || r.Next(r.now+Pace-1, r.terms) != (Order{}) {
		t.Error("the next question comes too soon")
	}
}

// A round waits for the catch-up of its connection, an hour at most.
func TestDue(t *testing.T) {
	var q Inquiry
	if !q.Due(0) || q.At() != 0 {
		t.Error("when it is due is known")
	}
	q.Connected(time.Hour)
	q.Plan(0)
	q.Plan(time.Minute)
	if q.At() != 1 || !q.Due(0) {
		t.Errorf("due at %v", q.At())
	}
	if at := q.Wake(time.Hour); at != 2*time.Hour || q.Ready(at-1, false) || !q.Ready(at, false) || !q.Ready(at-1, true) || q.Wake(at) != backoff.Never {
		t.Errorf("wakes at %v", at)
	}
	if q.AwaitCatchUp(90 * time.Minute); !q.Ready(2*time.Hour, false) {
		t.Error("a catch-up that begins anew puts it off")
	}
	q.Begin(9*time.Hour, newRounds(t, 1, nil).terms.Want, 0)
	if q.AwaitCatchUp(9 * time.Hour); q.Ready(10*time.Hour-1, false) || !q.Ready(10*time.Hour, false) {
		t.Error("the next catch-up is not waited for")
	}
	q = Inquiry{}
	q.Plan(3 * time.Hour)
	if q.Due(time.Hour) || q.Wake(time.Hour) != 3*time.Hour || q.Ready(time.Hour, true) {
		t.Error("due too soon")
	}
	if q.Soon(time.Hour); !q.Ready(time.Hour, true) {
		t.Error("not due")
	}
}

// A round that is due begins between two steps of the one under way: the caller has the task of an open question, or a walk.
func TestARoundBeginsBetweenSteps(t *testing.T) {
	r := newRounds(t, 3, nil)
	r.begin()
	r.page = Reached{IDs: ids(1, 3)}
	for open := false; !open; {
		s := r.step()
		r.Soon(r.now)
		if r.Ready(r.now, true) {
			t.Fatalf("a round begins in the middle of %s", told(s))
		}
		if open = s.Ask != nil; !open {
			r.Surveyed(r.page)
		}
	}
	r.PutBack()
	if r.Ready(r.now, true) {
		t.Error("a round begins while a question waits for its turn")
	}
	if r.Answered(r.came); !r.Ready(r.now, true) {
		t.Error("no round begins between steps")
	}
}

// The next connection goes on with a round that a lost one ends, with the question that was open.
func TestDisconnected(t *testing.T) {
	for _, visit := range []bool{false, true} {
		r := newRounds(t, 1, nil)
		r.begin()
		r.step()
		r.Surveyed(Reached{IDs: ids(1, 3)})
		r.step()
		r.now += time.Minute
		if r.Disconnected(r.now, visit); r.Active() || r.Asking() || !r.Due(r.now) {
			t.Errorf("visit %v: active %v, asking %v, due at %v", visit, r.Active(), r.Asking(), r.At())
		}
		r.Connected(r.now)
		r.begin()
		if s := r.step(); told(s) != "#e of 2" || r.Steps() != 1 {
			t.Errorf("visit %v: goes on with %s after %d steps", visit, told(s), r.Steps())
		}
		for r.Active() {
			r.Answered(r.came)
			if s := r.step(); s.Walk != nil {
				r.Surveyed(Reached{})
			}
		}
		if r.Disconnected(r.now, visit); r.Due(r.now) {
			t.Error("due as a connection ended that asked nothing")
		}
		r.now = r.At()
		if r.begin(); r.Steps() != 0 {
			t.Errorf("the next round begins with %d steps", r.Steps())
		}
	}
}

// A relay that hangs up after a few answers is asked everything, within the steps of one round. One that hangs up at each question is not.
func TestARelayThatHangsUpAfterAFewAnswers(t *testing.T) {
	for _, x := range []struct{ every, pages, asks, least, most int }{{8, 200, 300, 200, 200}, {8, 5000, MostSteps, 500, MostSteps}, {1, 200, 10, 0, 0}} {
		r := newRounds(t, 250, nil)
		r.begin()
		next, page, asks, answered := r.At(), 0, 0, 0
		for r.Due(r.now) || r.Active() {
			if !r.Active() {
				r.Connected(r.now)
				r.Begin(next, r.terms.Want, 0)
			}
			r.tour.most = 1
			switch s := r.step(); {
			case s.Walk != nil && page < x.pages:
				page++
				r.Surveyed(Reached{IDs: []nostr.ID{{byte(page >> 8), byte(page)}}})
			case s.Walk != nil:
				r.Surveyed(Reached{})
			case s.Ask != nil:
				r.Sent()
				if asks++; asks%x.every == 0 {
					r.Disconnected(r.now, false)
					break
				}
				answered++
				r.Answered(r.came)
			}
		}
		if answered < x.least || answered > x.most || r.Steps() > 0 || asks > x.asks {
			t.Errorf("hangs up at each %dth question: %d of %d pages, %d of %d questions are answered", x.every, page, x.pages, answered, asks)
		}
	}
}

// A visit that is cut short again and again asks everything in the end, however short it is: the mailbox goes on with the question that was open.
func TestShortVisits(t *testing.T) {
	r := newRounds(t, 0, people(30))
	r.terms.Outsider = true
	r.terms.Want.Mailbox.Index = []nostr.PubKey{{1}, {2}}
	r.Plan(0)
	var asked []string
	for {
		r.Connected(r.now)
		r.Begin(r.now+24*time.Hour, r.terms.Want, 0)
		r.step()
		r.Answered(r.came)
		s := r.step() // and then the connection is lost
		if s.Ended != nil {
			break
		}
		asked = append(asked, told(s))
		r.Disconnected(r.now, true)
		if !r.Due(r.now) || len(asked) > 20 {
			t.Fatalf("took the steps %v", r.steps)
		}
	}
	if len(asked) != 8 || r.steps[0] != "kinds [0 62 10002 10317] by 2" {
		t.Errorf("visits ended with %v", asked)
	}
	// A round that is due anew begins anew.
	r.now += 24 * time.Hour
	r.Begin(r.now+24*time.Hour, r.terms.Want, 0)
	if s := r.step(); told(s) != "kinds [0 62 10002 10317] by 2" {
		t.Errorf("the next day begins with %s", told(s))
	}
}

// Somebody who has gone since a visit was cut short is not asked for when the visit goes on.
func TestAVisitGoesOnWithoutThoseWhoHaveGone(t *testing.T) {
	all := people(2)
	r := newRounds(t, 0, all)
	r.terms.Outsider = true
	r.begin()
	r.step()
	r.Disconnected(r.now, true)
	r.Connected(r.now)
	r.terms.Want = r.terms.Want.WithMailbox(&mailbox.Mailbox{People: all.People[1:]})
	r.Begin(r.now+24*time.Hour, r.terms.Want, 0)
	if s := r.step(); told(s) != "kinds [0 62 10002 10317] by 1" {
		t.Errorf("asks for %s", told(s))
	}
}

// A question at which a relay always hangs up keeps nobody from the other questions.
func TestAQuestionThatEndsEachVisit(t *testing.T) {
	r := newRounds(t, 0, people(30)) // in two batches
	r.terms.Outsider = true
	r.Plan(0)
	answered, lost := 0, 0
	visit := func() (ended bool) {
		r.Connected(r.now)
		r.Begin(r.now+24*time.Hour, r.terms.Want, 0)
		for {
			switch s := r.step(); {
			case s.Ended != nil:
				return true
			case told(s) == "#e of 2":
				lost++
				r.Disconnected(r.now, true)
				return false
			}
			answered++
			r.Sent()
			r.Answered(r.came)
		}
	}
	for !visit() {
		if !r.Due(r.now) || lost > 20 {
			t.Fatalf("took the steps %v", r.steps)
		}
	}
	if lost != 2*mostRefusals || answered != 6 {
		t.Errorf("%d visits were lost, took the steps %v", lost, r.steps)
	}
}

// A relay that is no mailbox any more is not asked as one, whatever was cut short.
func TestALostVisitOfNoMailbox(t *testing.T) {
	r := newRounds(t, 0, people(2))
	r.terms.Outsider = true
	r.begin()
	r.step()
	r.Disconnected(r.now, true)
	r.Connected(r.now)
	r.Begin(r.now+time.Hour, r.terms.Want.WithMailbox(nil), 0)
	if s := r.step(); s.Ended == nil {
		t.Errorf("asks for %s", told(s))
	}
}

// What is wanted no more is forgotten, but for when this is due.
func TestForget(t *testing.T) {
	r := newRounds(t, 1, people(1))
	r.begin()
	r.step()
	r.Surveyed(Reached{IDs: ids(1, 3)})
	if !r.Begun() || r.Size().IDs != 2 {
		t.Fatal("nothing has begun")
	}
	at := r.At()
	if r.Forget(); r.Begun() || r.Active() || r.Size() != (TourSize{}) || r.At() != at {
		t.Errorf("active %v, due at %v, holds %+v", r.Active(), r.At(), r.Size())
	}
}

// Where a round begins for the first time is told.
func TestThePlaceOfTheFirstRound(t *testing.T) {
	r := newRounds(t, 3, people(50))
	r.Begin(1, r.terms.Want, 0.6)
	if s := r.step(); told(s) != "read about 2" {
		t.Errorf("begins with %s", told(s))
	}
	r = newRounds(t, 3, people(50))
	r.terms.Outsider = true
	r.Begin(1, r.terms.Want, 0.5)
	if s := r.step(); s.Ask == nil || s.Ask.Authors[0] != (nostr.PubKey{9, 0, 25}) {
		t.Errorf("begins with %s", told(s))
	}
}

// The same items are surveyed again as long as something comes of it, and nothing is asked twice. Beyond a bound the others have their turn.
func TestPasses(t *testing.T) {
	r := newRounds(t, 0, nil)
	r.begin()
	for n, page := range []Reached{{IDs: ids(1, 3)}, {IDs: ids(1, 4), Missing: ids(7, 8)}, {IDs: ids(1, 4), Missing: ids(7, 8)}} {
		if s := r.step(); s.Walk == nil {
			t.Fatalf("%d: %s", n, told(s))
		}
		r.Surveyed(page)
		for n < 2 && (len(r.tour.ids)+len(r.tour.missing) > 0) {
			r.step()
			r.Answered(func(nostr.ID) bool { return false })
		}
	}
	r.step()
	r.expect("read about 2", "#e of 2", "read about 2", "1 ids", "#e of 1", "read about 2", "ended after 3 ")

	r = newRounds(t, 0, nil)
	r.begin()
	for n := byte(0); ; n++ {
		s := r.step()
		if s.Ended != nil {
			break
		}
		if n > 100 {
			t.Fatal("it never ends")
		}
		r.Surveyed(Reached{IDs: ids(n, n+1)})
		r.step()
		r.Answered(r.came)
	}
	if n := r.tour.passes; len(r.steps) != 2*(MostLevels+1)+1 || n != 0 {
		t.Errorf("%d steps, %d passes", len(r.steps), n)
	}
}

// Where the items of a survey are too much together, fewer are surveyed at once, and more again later.
func TestASurveyThatIsFull(t *testing.T) {
	r := newRounds(t, 6, nil)
	r.begin()
	full := map[int]bool{0: true, 1: true, 4: true, 5: true}
	for n := 0; ; n++ {
		s := r.step()
		if s.Ended != nil {
			break
		}
		r.Surveyed(Reached{Full: full[n] || len(s.Walk.IDs)+len(s.Walk.Addresses) > 4})
	}
	if got := strings.Join(r.steps, "; "); strings.Count(got, "read about 2;") < 2 || !strings.HasSuffix(got, "ended after 0 ") && len(r.steps) > 20 {
		t.Errorf("took the steps %s", got)
	}
}
