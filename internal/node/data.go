package node

import (
	"fmt"
	"os"
	"path/filepath"

	"graspd/internal/contain"
	"graspd/internal/ingest"
	"graspd/internal/store"
)

// StoreIn is where the store of a data directory is.
func StoreIn(dir string) string { return filepath.Join(dir, "store") }

// OpenStore opens the store in a data directory as it is, without any rules and without anything that follows it.
func OpenStore(dir string, o store.Options) (*store.Store, error) {
	o.Dir = StoreIn(dir)
	return store.Open(o)
}

// OpenDoor opens the store and the door in front of it alone, for events that are brought in while nothing is served.
func OpenDoor(c Config) (*store.Store, *ingest.Door, error) {
	return open(c.withDefaults(), nil)
}

// open opens the data directory and the door in front of it.
func open(c Config, faults *contain.Faults) (*store.Store, *ingest.Door, error) {
	if c.Store.FS == nil {
		if err := os.MkdirAll(c.Dir, 0o750); err != nil {
			return nil, nil, fmt.Errorf("make data directory: %w", err)
		}
	}
	rules := c.rules(c.Lists)
	o := c.Store
	o.Rules, o.Now, o.Logger = rules.Fingerprint(), c.Now, c.Logger.With("component", "store")
	s, err := OpenStore(c.Dir, o)
	if err != nil {
		return nil, nil, err
	}
	return s, ingest.New(ingest.Config{
		Store: s, Rules: rules, Verifier: c.Verifier, Now: c.Now, Workers: c.Workers, Limits: c.Door,
		Logger: c.Logger.With("component", "ingest"), Faults: faults,
	}), nil
}
