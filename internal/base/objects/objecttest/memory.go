// Package objecttest has an object store for tests, and what every object store must do, as tests that any implementation can run. Memory
// misbehaves in every way that a Store may, and in some that it may not.
package objecttest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/sleep"
)

// Fault is what goes wrong with one request. The zero Fault is nothing.
type Fault struct {
	Delay  time.Duration // passes before it comes
	Lost   bool          // it does not come
	Silent bool          // it is carried out, and the answer is lost
	Again  int           // it comes, once more or at last, when so many others have come after it; 0 is never. Only of Put and Delete
}

// Request is what a store is asked.
type Request struct {
	Op   string // put, get, head, list, delete
	Name string // of the object; of a list its prefix
}

// errLost is why nothing is known.
var errLost = errors.New("no answer")

// Memory is an object store in memory. The zero Memory is empty, and works.
type Memory struct {
	// Fault says what goes wrong with a request; nil is nothing. It is called for one request at a time. Set it before the store is used.
	Fault func(Request) Fault

	// What no Store may do: replace what is there; show in reads, or in lists, what was there so many requests before.
	Replaces               bool
	ReadsBehind, ListsLate int

	mu       sync.Mutex
	requests int               // that have come
	late     map[int][]change  // what comes when so many requests have come
	now      map[string][]byte // nil until something is written
	history  []change          // all that made it
}

// change is one thing that was done to a store.
type change struct {
	at   int // when so many requests had come
	name string
	body []byte // nil is a removal
}

// Random returns faults for a store, by a seed: requests and answers are lost, sometimes all for a while, and come late and twice; they take up
// to slow.
func Random(seed uint64, slow time.Duration) func(Request) Fault {
	r := rand.New(rand.NewPCG(seed, 11))
	away := 0 // how many requests more the store does not hear
	return func(Request) (f Fault) {
		if away == 0 && r.IntN(100) == 0 {
			away = 1 + r.IntN(20)
		}
		f.Delay = time.Duration(r.Int64N(1 + int64(slow)))
		f.Lost, f.Silent = r.IntN(10) == 0, r.IntN(10) == 0
		if away > 0 {
			away--
			f.Lost = true
		}
		if r.IntN(10) == 0 {
			f.Again = 1 + r.IntN(50)
		}
		return f
	}
}

// arrive lets a request come. It returns an error where the request is not carried out, and whether the answer is lost. Unless it fails, mu is
// held.
func (m *Memory) arrive(ctx context.Context, q Request, later *change) (silent bool, err error) {
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	f := m.fault(q)
	if err := sleep.For(ctx, f.Delay); err != nil {
		return false, err
	}
	m.mu.Lock()
	m.requests++
	for _, c := range m.late[m.requests] {
		m.do(c)
	}
	delete(m.late, m.requests)
	if f.Again > 0 && later != nil {
		if m.late == nil {
			m.late = make(map[int][]change)
		}
		m.late[m.requests+f.Again] = append(m.late[m.requests+f.Again], *later)
	}
	if f.Lost {
		m.mu.Unlock()
		return false, errLost
	}
	return f.Silent, nil
}

func (m *Memory) fault(q Request) Fault {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Fault == nil {
		return Fault{}
	}
	return m.Fault(q)
}

// do carries out a change.
func (m *Memory) do(c change) objects.Outcome {
	_, there := m.now[c.name]
	if c.body != nil && there && !m.Replaces || c.body == nil && !there {
		return objects.Exists
	}
	c.at = m.requests
	m.history = append(m.history, c)
	m.now = c.in(m.now)
	return objects.Done
}

// in makes the change in a state of a store.
func (c change) in(state map[string][]byte) map[string][]byte {
	if state == nil {
		state = make(map[string][]byte)
	}
	if c.body == nil {
		delete(state, c.name)
	} else {
		state[c.name] = c.body
	}
	return state
}

// before is the state of a store when so many requests fewer had come.
func (m *Memory) before(requests int) (state map[string][]byte) {
	if requests == 0 {
		return m.now
	}
	for _, c := range m.history {
		if c.at <= m.requests-requests {
			state = c.in(state)
		}
	}
	return state
}

// Put implements objects.Store.
func (m *Memory) Put(ctx context.Context, name string, body objects.Body) (objects.Outcome, error) {
	if err := objects.CheckPut(name, body); err != nil {
		return objects.Unknown, err
	}
	b, err := io.ReadAll(io.NewSectionReader(body, 0, body.Size()))
	if err != nil {
		return objects.Unknown, err
	}
	c := change{name: name, body: append([]byte{}, b...)}
	silent, err := m.arrive(ctx, Request{"put", name}, &c)
	if err != nil {
		return objects.Unknown, err
	}
	defer m.mu.Unlock()
	o := m.do(c)
	if silent {
		return objects.Unknown, errLost
	}
	return o, nil
}

// Get implements objects.Store.
func (m *Memory) Get(ctx context.Context, name string, from int64, n int) ([]byte, error) {
	if err := objects.CheckPart(name, from, n); err != nil {
		return nil, err
	}
	b, err := m.look(ctx, "get", name)
	if err != nil {
		return nil, err
	}
	from = min(from, int64(len(b)))
	return bytes.Clone(b[from:min(from+int64(n), int64(len(b)))]), nil
}

// Head implements objects.Store.
func (m *Memory) Head(ctx context.Context, name string) (objects.Info, error) {
	if err := objects.CheckName(name); err != nil {
		return objects.Info{}, err
	}
	b, err := m.look(ctx, "head", name)
	return objects.Info{Name: name, Size: int64(len(b))}, err
}

func (m *Memory) look(ctx context.Context, op, name string) ([]byte, error) {
	silent, err := m.arrive(ctx, Request{op, name}, nil)
	if err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	b, ok := m.before(m.ReadsBehind)[name]
	switch {
	case silent:
		return nil, errLost
	case !ok:
		return nil, objects.ErrNone
	}
	return b, nil
}

// List implements objects.Store.
func (m *Memory) List(ctx context.Context, prefix, after string, most int) (page []objects.Info, err error) {
	silent, err := m.arrive(ctx, Request{"list", prefix}, nil)
	if err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	if silent {
		return nil, errLost
	}
	state := m.before(m.ListsLate)
	for _, name := range slices.Sorted(maps.Keys(state)) {
		if len(page) < min(most, objects.MaxList) && strings.HasPrefix(name, prefix) && name > after {
			page = append(page, objects.Info{Name: name, Size: int64(len(state[name]))})
		}
	}
	return page, nil
}

// Delete implements objects.Store.
func (m *Memory) Delete(ctx context.Context, name string) error {
	if err := objects.CheckName(name); err != nil {
		return err
	}
	c := change{name: name}
	silent, err := m.arrive(ctx, Request{"delete", name}, &c)
	if err != nil {
		return err
	}
	defer m.mu.Unlock()
	m.do(c)
	if silent {
		return errLost
	}
	return nil
}

// Deliver lets all come that is late.
func (m *Memory) Deliver() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, at := range slices.Sorted(maps.Keys(m.late)) {
		for _, c := range m.late[at] {
			m.do(c)
		}
	}
	m.late = nil
}

// Moment is a moment in the life of a Memory.
type Moment int

// Moment returns the present one.
func (m *Memory) Moment() Moment {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Moment(len(m.history))
}

// SetBack sets the store back to a moment, as somebody does who restores a bucket. What is late stays late.
func (m *Memory) SetBack(to Moment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.history = slices.Clip(m.history[:to])
	m.now = nil
	for _, c := range m.history {
		m.now = c.in(m.now)
	}
}
