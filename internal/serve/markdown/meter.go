package markdown

import (
	"errors"

	"github.com/yuin/goldmark/text"
)

// The work of a text is counted in ticks, of which each takes some ten nanoseconds: ticksPerByte for each byte of the text and ticksAtAll beside.
// Texts that people write take less than a tenth of that. The rest takes as long as if it were written to take long.
const (
	ticksPerByte = 48
	ticksAtAll   = 100_000
	ticksPerStep = 100  // in a step of Options.Charge
	ticksAtOnce  = 5000 // between two calls of Options.Charge
)

// errCostly says that a text takes too much work. The meter panics with it in the midst of goldmark, which has no other way to be ended, and
// run recovers it.
var errCostly = errors.New("too much work")

// meter counts the work of one text.
type meter struct {
	left   int // ticks
	told   int // what was left when charge was called last
	charge func(steps int) error
	at     place // the paragraph, heading or cell whose inline elements are being read
	pipes  int   // escaped bars in tables so far
}

func newMeter(size int, charge func(int) error) *meter {
	if charge == nil {
		charge = func(int) error { return nil }
	}
	n := ticksAtAll + ticksPerByte*size
	return &meter{left: n, told: n, charge: charge}
}

// spend counts work that was done or is about to be done. It panics with errCostly where that is too much.
func (m *meter) spend(ticks int) {
	m.left -= ticks
	if m.left < 0 || m.told-m.left >= ticksAtOnce && m.tell() != nil {
		panic(errCostly)
	}
}

// tell charges what was not charged yet.
func (m *meter) tell() error {
	steps := (m.told - m.left) / ticksPerStep
	m.told -= steps * ticksPerStep
	return m.charge(steps)
}

// run does something that spends, and fails with errCostly where that was too much.
func (m *meter) run(do func() error) (err error) {
	defer func() {
		if r := recover(); r == errCostly {
			err = errCostly
		} else if r != nil {
			panic(r)
		}
	}()
	if err = do(); err == nil {
		_ = m.tell() // the work is done, and the next text sees an overdrawn account
	}
	return err
}

// reader is what the blocks of a text are read from. For every line goldmark looks at each quote and list in which the line may stand, and each
// look at the line is counted.
type reader struct {
	text.Reader
	m *meter
}

const ticksPerLook = 20

// PeekLine implements text.Reader.
func (r *reader) PeekLine() ([]byte, text.Segment) {
	r.m.spend(ticksPerLook)
	return r.Reader.PeekLine()
}
