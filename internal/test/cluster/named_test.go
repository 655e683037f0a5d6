package cluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/election"
)

// quiet has three nodes of which one leads, where nothing goes wrong but what do does, and holds them to the same as any world.
func quiet(t *testing.T, do func(w *world, lead *life)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, stores, plant{})
		defer w.end()
		w.calm, w.still, w.nodes = true, true, w.nodes[:3]
		for _, n := range w.nodes {
			n.start()
		}
		if w.settle() {
			time.Sleep(election.Between)
			do(w, w.leader())
		}
		if w.settle() {
			w.everybody(stores)
			w.audit.final()
		}
		for _, p := range w.audit.wrong() {
			t.Error(p)
		}
		if t.Failed() {
			t.Log(w.last(100))
		}
	})
}

// later publishes at a process, and returns where what it heard will come.
func (c *client) later(l *life) <-chan published {
	heard := make(chan published, 1)
	l.spawn(func() { heard <- c.publish(l, c.note()) })
	return heard
}

// TestTheFence: a leader that freezes between what it decides and what it appends, while another node comes to lead, can write nothing when it
// wakes, and says so. What was in the log before it froze is there, and it says that.
func TestTheFence(t *testing.T) {
	for where, stored := range map[string]bool{
		"before it commits":                        false,
		"before it appends":                        false,
		"before it hears what became of an append": true,
		"before it answers":                        true,
	} {
		t.Run(where, func(t *testing.T) {
			quiet(t, func(w *world, lead *life) {
				c := newClient(w, 1, stores)
				w.trap = trap{lead.String(), where, time.Minute}
				heard := c.later(lead)
				time.Sleep(40 * time.Second)
				var other *life
				for _, n := range w.nodes {
					if l := n.current(); l != lead && l.leading() != nil {
						other = l
					}
				}
				if other == nil {
					t.Fatal("nobody else leads")
				}
				if r := <-newClient(w, 2, stores).later(other); !r.ok {
					t.Errorf("the new leader: %s", r)
				}
				time.Sleep(30 * time.Second)
				r := <-heard
				if r.ok != stored || r.refused == stored {
					t.Errorf("whoever published at the old leader hears: %s", r)
				}
				if other.has(r.id) != stored {
					t.Errorf("it is stored: %v", other.has(r.id))
				}
			})
		})
	}
}

// TestHowLongNobodyLeads: after a hand-over less than a second, after a kill less than twelve.
func TestHowLongNobodyLeads(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*life)
		most time.Duration
	}{
		{"told to end", func(l *life) { l.send(election.Stop{}) }, time.Second},
		{"killed", (*life).kill, 12 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			quiet(t, func(w *world, lead *life) {
				for i := range 20 { // something to write when it ends
					newClient(w, i, stores).later(lead)
				}
				begun := w.now()
				c.end(lead)
				for l := w.leader(); l == nil || l == lead; l = w.leader() {
					time.Sleep(10 * time.Millisecond)
					if w.now()-begun > time.Minute {
						t.Fatal("nobody leads")
					}
				}
				if took := w.now() - begun; took > c.most {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// TestOneNodeAlone: it leads as soon as it starts again, whatever was lost with its disk's cache, and has all that was acknowledged.
func TestOneNodeAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2, stores, plant{})
		defer w.end()
		w.calm, w.nodes = true, w.nodes[:1]
		n := w.nodes[0]
		n.start()
		w.settle()
		c := newClient(w, 1, stores)
		for i := range 10 {
			l := n.current()
			for range 5 {
				if r := <-c.later(l); !r.ok {
					t.Fatalf("life %d: %s", i, r)
				}
			}
			if i%2 == 0 {
				l.kill()
			} else {
				l.send(election.Stop{})
			}
			time.Sleep(time.Second)
			n.start()
			begun := w.now()
			for w.leader() == nil && w.now() < begun+time.Minute {
				time.Sleep(10 * time.Millisecond)
			}
			if took := w.now() - begun; took > time.Second {
				t.Errorf("life %d: nobody leads for %v", i, took)
			}
		}
		w.settle()
		w.audit.final()
		for _, p := range w.audit.wrong() {
			t.Error(p)
		}
	})
}
