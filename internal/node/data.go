package node

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/graspd/graspd/internal/contain"
	"github.com/graspd/graspd/internal/ingest"
	"github.com/graspd/graspd/internal/ledger"
	"github.com/graspd/graspd/internal/store"
)

// StoreIn is where the store of a data directory is.
func StoreIn(dir string) string { return filepath.Join(dir, "store") }

// OpenStore opens the store in a data directory as it is, without any rules and without anything that follows it.
func OpenStore(dir string, o store.Options) (*store.Store, error) {
	o.Dir = StoreIn(dir)
	return store.Open(o)
}

// OpenDoor opens the store and the door in front of it alone, for events that are brought in while nothing is served. None of them
// waits for git data.
func OpenDoor(c Config) (*store.Store, *ingest.Door, error) {
	c = c.withDefaults()
	s, err := openStore(c)
	if err != nil {
		return nil, nil, err
	}
	return s, newDoor(c, s, nil, nil), nil
}

// openData opens the data directory and the door in front of it.
func (n *Node) openData() (err error) {
	c := n.cfg
	if n.Store, err = openStore(c); err != nil {
		return err
	}
	if c.Git == nil {
		n.Door = newDoor(c, n.Store, nil, n.faults)
		return nil
	}
	if err := n.openGit(); err != nil {
		return err
	}
	n.Door = newDoor(c, n.Store, n.Host.Ledger(), n.faults)
	n.Host.Through(n.Door)
	return nil
}

func openStore(c Config) (*store.Store, error) {
	if c.Store.FS == nil {
		if err := os.MkdirAll(c.Dir, 0o750); err != nil {
			return nil, fmt.Errorf("make data directory: %w", err)
		}
	}
	o := c.Store
	o.Rules, o.Now, o.Logger = c.rules(c.Lists).Fingerprint(), c.Now, c.Logger.With("component", "store")
	return OpenStore(c.Dir, o)
}

func newDoor(c Config, s *store.Store, l *ledger.Ledger, faults *contain.Faults) *ingest.Door {
	return ingest.New(ingest.Config{
		Store: s, Rules: c.rules(c.Lists), Verifier: c.Verifier, Now: c.Now, Workers: c.Workers, Limits: c.Door,
		Logger: c.Logger.With("component", "ingest"), Faults: faults, Ledger: l,
	})
}
