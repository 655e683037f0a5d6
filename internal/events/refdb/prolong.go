package refdb

import (
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nip34"
)

// Prolong sets back the deadlines of waiting events whose needs graspd is fetching, as if these events had come now.
func (l *Ledger) Prolong(t Turn, of nip34.Address, needs []Need) error {
	until := t.Now.Add(WaitFor).Unix()
	for _, n := range needs {
		if n.Came == 0 {
			continue
		}
		if err := t.Postpone(n.Event, until); err != nil {
			return err
		}
		if n.Tip {
			continue
		}
		if err := l.postpone(t, n.Author, of.D); err != nil {
			return fmt.Errorf("what waits for a fetch of %s: %w", of, err)
		}
	}
	return nil
}
