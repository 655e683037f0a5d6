package store

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/layout"
)

// The rules by which events are refused are known by an epoch, which every record of a refused event has, and a
// fingerprint, by which it is seen at the next start whether they are the same. What the rules of another epoch refused
// counts as forgotten at once; its rows go when they are due.

// readRules reads the epoch and the fingerprint; false where there are none yet.
func readRules(r pebble.Reader) (epoch uint32, fingerprint string, ok bool, err error) {
	v, ok, err := index.Get(r, layout.MetaKey(layout.MetaRules))
	if err != nil || !ok {
		return 0, "", false, err
	}
	epoch, fingerprint, err = parseRules(v)
	return epoch, fingerprint, err == nil, err
}

func parseRules(v []byte) (epoch uint32, fingerprint string, err error) {
	if len(v) < 4 {
		return 0, "", fmt.Errorf("rules: %w", layout.ErrCorrupt)
	}
	return binary.BigEndian.Uint32(v), string(v[4:]), nil
}

func writeRules(w *pebble.Batch, epoch uint32, fingerprint string) error {
	return w.Set(layout.MetaKey(layout.MetaRules), append(binary.BigEndian.AppendUint32(nil, epoch), fingerprint...), nil)
}

// startEpoch begins another epoch where the rules have changed.
func (s *Store) startEpoch(w *pebble.Batch) (uint32, error) {
	epoch, fingerprint, ok, err := readRules(s.engine.db)
	if err != nil || ok && (s.opt.Rules == "" || fingerprint == s.opt.Rules) {
		return epoch, err
	}
	return epoch + 1, writeRules(w, epoch+1, s.opt.Rules)
}

// ForgetRefused forgets everything that was refused so far, in this batch too, so that relays bring it again.
func (b *Batch) ForgetRefused() error {
	_, fingerprint, _, err := readRules(b.w)
	if err != nil {
		return fmt.Errorf("forget what was refused: %w", err)
	}
	b.epoch++
	b.ops++
	return writeRules(b.w, b.epoch, fingerprint)
}

// SetRules puts rules with that fingerprint in force. With forget, everything that was refused so far, in this batch too, counts as
// forgotten. Without forget, the caller says that the old rules took everything that the new ones take.
func (b *Batch) SetRules(fingerprint string, forget bool) error {
	_, before, ok, err := readRules(b.w)
	if err != nil {
		return fmt.Errorf("set rules: %w", err)
	}
	if ok && before == fingerprint {
		return nil
	}
	if forget {
		b.epoch++
	}
	b.ops++
	return writeRules(b.w, b.epoch, fingerprint)
}
