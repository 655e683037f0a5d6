package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/backup"
	"github.com/graspd/graspd/internal/operate/moderation/moderator"
)

// StoreIn returns where a data directory has its store.
func StoreIn(dir string) string { return filepath.Join(dir, "store") }

// OpenStore opens the store in a data directory, without rules and without anything that follows the store.
func OpenStore(dir string, o store.Options) (*store.Store, error) {
	o.Dir = StoreIn(dir)
	return openStoreAt(o)
}

// openStoreAt opens a store wherever it is.
func openStoreAt(o store.Options) (*store.Store, error) { return store.Open(o) }

// OpenDoor opens the store and the door in front of it, and nothing else: for events that a command brings in while nobody is served. None
// of them waits for git data. The caller closes the store.
func OpenDoor(c Config) (*store.Store, *ingest.Door, error) {
	c = c.withDefaults()
	s, err := openOwnStore(c)
	if err != nil {
		return nil, nil, err
	}
	if _, err := moderated(&c, s); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, newDoor(c, s, nil, nil), nil
}

// moderated reads the operator's decisions, adds them to the lists, and puts the rules that the lists make into the store. While no
// repository is kept, it forgets refusals: relays then bring the announcements again, and the operator is told what these list.
func moderated(c *Config, s *store.Store) (*moderator.Decisions, error) {
	decided, err := moderator.Read(s)
	if err != nil {
		return nil, err
	}
	c.Lists = decided.With(c.Lists)
	err = store.Update(s, func(b *store.Batch) error {
		err := b.SetRules(c.rules(c.Lists).Fingerprint(), true)
		if at := s.Stats(); err == nil && at.Repositories == 0 && at.Remembered > 0 {
			err = b.ForgetRefused()
		}
		return err
	})
	if errors.Is(err, store.ErrFull) { // the next start with room does it
		return decided, nil
	}
	return decided, err
}

func openOwnStore(c Config) (*store.Store, error) {
	if c.Store.FS == nil {
		if err := os.MkdirAll(c.Dir, 0o750); err != nil {
			return nil, fmt.Errorf("make data directory: %w", err)
		}
		if err := backup.Accept(c.Dir); err != nil {
			return nil, fmt.Errorf("data in %s: %w", c.Dir, err)
		}
	}
	o := c.Store
	o.Now, o.Logger = c.Now, c.Logger.With("component", "store")
	return OpenStore(c.Dir, o)
}

func newDoor(c Config, s *store.Store, l *refdb.Ledger, faults *contain.Faults) *ingest.Door {
	return ingest.New(ingest.Config{
		Store: s, Rules: c.rules(c.Lists), Verifier: c.Verifier, Now: c.Now, Workers: c.Workers, Limits: c.Door,
		Logger: c.Logger.With("component", "ingest"), Faults: faults, Ledger: l,
	})
}
