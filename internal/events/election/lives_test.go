package election_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/election"
)

// TestLives: whatever is cut, frozen, killed and told to end, nobody ends a term that is heard of or that is young, and soon after all is well
// one node leads, whom all others follow for as long as nothing happens.
func TestLives(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newNet(t, seed)
				w.trouble(3 * time.Minute)
				w.settle()
				if t.Failed() {
					t.Logf("what happened:\n%s", strings.Join(w.lines, "\n"))
				}
			})
		})
	}
}

// net is some nodes and their log, of which each entry is the term of whoever wrote it.
type net struct {
	t     *testing.T
	begun time.Time

	mu    sync.Mutex // guards all below
	r     *rand.Rand
	log   []election.Term
	since time.Duration // when the last entry came
	terms []time.Duration
	nodes []*process
	apart map[[2]string]bool // who does not hear whom; the log is ""
	lines []string
}

// process is a node's process, over all its lives.
type process struct {
	w    *net
	name string

	// Guarded by net.mu.
	life   int // a goroutine of an earlier life does nothing any more
	down   bool
	frozen time.Duration // until then
	n      *election.Node
	at     int
	heard  time.Duration
	leads  uint64 // the term
	called bool
	tries  bool
	in     chan election.Input
	stream int
}

func newNet(t *testing.T, seed uint64) *net {
	w := &net{t: t, begun: time.Now(), r: rand.New(rand.NewPCG(seed, 5)), apart: map[[2]string]bool{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range 3 + w.r.IntN(3) {
		p := &process{w: w, name: string(rune('a' + i))}
		w.nodes = append(w.nodes, p)
		p.start()
	}
	return w
}

func (w *net) now() time.Duration { return time.Since(w.begun) }

func (w *net) say(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf("%9v ", w.now().Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

func (w *net) dice(n int) int { return w.r.IntN(n) }

// start begins a life. net.mu is held, or nobody else runs.
func (p *process) start() {
	p.life++
	p.down, p.leads, p.called, p.tries, p.stream, p.frozen = false, 0, false, false, 0, 0
	p.in = make(chan election.Input, 1000)
	p.at = len(p.w.log)
	p.n = election.New(p.name, p.w.now(), uint64(p.at), p.w.last(p.at))
	p.heard = p.w.now()
	go p.run(p.life, p.n, p.in)
}

func (w *net) last(at int) election.Term {
	if at == 0 {
		return election.Term{}
	}
	return w.log[at-1]
}

// alive waits until the process runs, and reports whether that life still goes on.
func (p *process) alive(life int) bool {
	for {
		p.w.mu.Lock()
		wait, ok := p.frozen-p.w.now(), p.life == life && !p.down
		p.w.mu.Unlock()
		if !ok || wait <= 0 {
			return ok
		}
		time.Sleep(wait)
	}
}

func (p *process) run(life int, n *election.Node, in chan election.Input) {
	for p.alive(life) {
		var x election.Input = election.Tick{}
		select {
		case x = <-in:
		case <-time.After(n.Wake() - p.w.now()):
		}
		if !p.alive(life) {
			return
		}
		for _, e := range n.Step(p.w.now(), x) {
			if p.alive(life) {
				p.do(life, e)
			}
		}
	}
}

// later does something of a life after a moment, unless its process is gone by then. net.mu is held, now and then.
func (p *process) later(life int, most time.Duration, do func()) {
	wait := time.Duration(p.w.r.Int64N(int64(most)))
	go func() {
		time.Sleep(wait)
		if p.alive(life) {
			p.w.mu.Lock()
			defer p.w.mu.Unlock()
			if p.life == life {
				do()
			}
		}
	}()
}

func (p *process) do(life int, e election.Effect) {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	const usual = 50 * time.Millisecond
	switch e := e.(type) {
	case election.Look:
		p.later(life, usual, p.look)
	case election.Connect:
		p.stream++
		stream := p.stream
		p.later(life, usual, func() { p.hear(life, stream, e.To) })
	case election.Lead:
		p.tries = true
		p.later(life, 2*usual, func() { p.lead(life, e.Position) })
	case election.Drain:
		p.later(life, usual, func() { p.leads = 0; p.in <- election.Drained{Position: uint64(p.at)} })
	case election.Call:
		p.later(life, usual, func() { p.call(life, e) })
	case election.Restart, election.Quit:
		w.say("%s ends with %T", p.name, e)
		p.end()
		if _, again := e.(election.Restart); again {
			p.start()
		}
	}
}

func (p *process) end() { p.down, p.leads = true, 0 }

func (w *net) carries(a, b string) bool {
	return !w.apart[[2]string{a, b}] && !w.apart[[2]string{b, a}]
}

func (p *process) look() {
	if !p.w.carries(p.name, "") {
		p.in <- election.Unseen{}
		return
	}
	if p.leads > 0 && p.at < len(p.w.log) {
		p.deposed()
		return
	}
	p.take(len(p.w.log))
	p.in <- election.Ended{Position: uint64(p.at)}
}

func (p *process) take(upTo int) {
	if p.leads == 0 && upTo > p.at {
		p.at = upTo
		p.in <- election.Applied{Position: uint64(p.at), Term: p.w.last(p.at)}
	}
}

func (p *process) deposed() {
	p.w.say("%s is deposed", p.name)
	p.leads = 0
	p.in <- election.Deposed{}
}

// hear lets the stream of a leader go on.
func (p *process) hear(life, stream int, to string) {
	i := strings.Index("abcde", to)
	l := p.w.nodes[i]
	switch {
	case stream != p.stream:
		return
	case l.down || l.leads == 0 || !p.w.carries(p.name, to):
		p.in <- election.Lost{}
		return
	case l.frozen <= p.w.now(): // else the stream is silent
		if !p.tries {
			p.heard = p.w.now()
		}
		p.in <- election.Heard{Term: l.leads}
		p.take(l.at)
		l.in <- election.Follower{Node: p.name, Position: uint64(p.at)}
	}
	p.later(life, time.Second, func() { p.hear(life, stream, to) })
}

// lead carries out a try, and judges it.
func (p *process) lead(life int, at uint64) {
	w := p.w
	if !w.carries(p.name, "") {
		p.later(life, time.Second, func() { p.lead(life, at) })
		return
	}
	p.tries = false
	defer func() { p.called = false }()
	if uint64(p.at) != at || p.at != len(w.log) {
		w.say("%s has lost the race", p.name)
		p.in <- election.NotLed{}
		return
	}
	now, before := w.now(), w.last(p.at)
	if own := before.By == p.name; !own && !p.called && before.Number > 0 {
		if silent := now - p.heard; silent < election.Silence {
			w.t.Errorf("%v: %s ends the term of a leader whom it heard %v ago", now, p.name, silent)
		}
		if age := now - w.terms[len(w.terms)-1]; age < election.Between {
			w.t.Errorf("%v: %s ends a term that is %v old", now, p.name, age)
		}
		if quiet := now - w.since; quiet < election.Silence {
			w.t.Errorf("%v: %s ends a term whose last entry is %v old", now, p.name, quiet)
		}
	}
	w.say("%s begins term %d", p.name, before.Number+1)
	p.leads = before.Number + 1
	w.terms = append(w.terms, now)
	p.append()
	p.in <- election.Led{Position: uint64(p.at), Term: p.leads}
	p.write(life)
}

func (p *process) append() {
	p.w.log, p.w.since = append(p.w.log, election.Term{Number: p.leads, By: p.name}), p.w.now()
	p.at++
}

// write has a leader write now and then.
func (p *process) write(life int) {
	p.later(life, 12*time.Second, func() {
		switch {
		case p.leads == 0:
			return
		case p.w.carries(p.name, "") && p.at != len(p.w.log):
			p.deposed()
			return
		case p.w.carries(p.name, ""):
			p.append()
			p.in <- election.Applied{Position: uint64(p.at), Term: p.w.last(p.at)}
		}
		p.write(life)
	})
}

// call carries out a hand-over. The answer of whoever was called may be lost.
func (p *process) call(life int, e election.Call) {
	to := p.w.nodes[strings.Index("abcde", e.Node)]
	if to.down || !p.w.carries(p.name, e.Node) {
		p.in <- election.HandedOver{}
		return
	}
	p.w.say("%s calls %s to lead from %d on", p.name, e.Node, e.Position)
	to.called = true
	to.in <- election.Called{Position: e.Position}
	go func() {
		time.Sleep(time.Second)
		p.w.mu.Lock()
		defer p.w.mu.Unlock()
		if p.life == life && !p.down {
			p.in <- election.HandedOver{OK: to.leads > 0 && p.w.dice(4) > 0}
		}
	}()
}

// trouble goes on for some time.
func (w *net) trouble(most time.Duration) {
	for w.now() < most {
		w.mu.Lock()
		p := w.nodes[w.dice(len(w.nodes))]
		switch w.dice(9) {
		case 0:
			w.say("%s is killed", p.name)
			p.life++
			p.end()
		case 1, 2:
			d := time.Duration(w.dice(40_000)) * time.Millisecond
			w.say("%s is frozen for %v", p.name, d)
			p.frozen = w.now() + d
		case 3:
			w.say("%s is told to end", p.name)
			p.in <- election.Stop{}
		case 4:
			other := ""
			if q := w.nodes[w.dice(len(w.nodes))]; q != p {
				other = q.name
			}
			w.say("%s and %q do not hear each other", p.name, other)
			w.apart[[2]string{p.name, other}] = true
		case 5, 6:
			w.say("all hear each other")
			clear(w.apart)
		}
		for _, p := range w.nodes {
			if p.down && w.dice(3) == 0 {
				w.say("%s starts", p.name)
				p.start()
			}
		}
		d := time.Duration(w.dice(6000)) * time.Millisecond
		w.mu.Unlock()
		time.Sleep(d)
	}
}

// settle lets all be well, and requires that one node leads soon, and goes on to.
func (w *net) settle() {
	for range 45 { // whoever is frozen sleeps on for at most 40 s, and may end then
		w.mu.Lock()
		clear(w.apart)
		for _, p := range w.nodes {
			if p.down {
				w.say("%s starts, and all is well", p.name)
				p.start()
			}
		}
		w.mu.Unlock()
		time.Sleep(time.Second)
	}
	time.Sleep(election.Between + election.Silence + election.MaxWait + 15*time.Second)
	w.mu.Lock()
	terms := len(w.terms)
	w.mu.Unlock()
	time.Sleep(2 * time.Minute)
	w.judge(terms)
	time.Sleep(time.Minute) // what is left of the processes finds that they are over
}

// judge requires that one node leads, whom all others hear, and that no term began since there were so many. It ends all.
func (w *net) judge(terms int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	leaders := 0
	for _, p := range w.nodes {
		if p.leads > 0 {
			leaders++
		} else if silent := w.now() - p.heard; silent > election.HeardLast {
			w.t.Errorf("%s has heard nothing for %v", p.name, silent)
		}
	}
	if leaders != 1 || len(w.terms) != terms {
		w.t.Errorf("%d nodes lead, and %d terms began without a reason", leaders, len(w.terms)-terms)
	}
	for _, p := range w.nodes {
		p.life++
		p.end()
	}
}
