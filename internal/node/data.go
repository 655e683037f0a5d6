package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/operate/backup"
	"github.com/graspd/graspd/internal/operate/moderation/moderator"
	"github.com/graspd/graspd/internal/operate/moderation/reports"
)

// StoreIn returns where a data directory has its store.
func StoreIn(dir string) string { return filepath.Join(dir, "store") }

// OpenStore opens the store in a data directory, without rules and without anything that follows the store.
func OpenStore(dir string, o store.Options) (*store.Store, error) {
	o.Dir = StoreIn(dir)
	return store.Open(o)
}

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
	b, err := s.Begin()
	if err == nil {
		err = b.SetRules(c.rules(c.Lists).Fingerprint(), true)
		if at := s.Stats(); err == nil && at.Repositories == 0 && at.Remembered > 0 {
			err = b.ForgetRefused()
		}
		if err == nil {
			_, err = b.Commit()
		}
		b.Discard()
	}
	if errors.Is(err, store.ErrFull) { // the next start with room does it
		return decided, nil
	}
	return decided, err
}

// openData opens the data directory and the door in front of it.
func (n *Node) openData() (err error) {
	c := n.cfg
	if n.Store, err = openOwnStore(c); err != nil {
		return err
	}
	n.sweepSnapshots()
	settings := c.rules(c.Lists)
	decided, err := moderated(&n.cfg, n.Store)
	if err != nil {
		return err
	}
	c = n.cfg
	var git hosting.Config
	if c.Git != nil {
		if git, err = n.openGit(); err != nil {
			return err
		}
	}
	n.Door = newDoor(c, n.Store, git.Ledger, n.faults)
	n.Moderator = moderator.New(moderator.Config{Store: n.Store, Decided: decided, Door: n.Door, Rules: settings, Now: c.Now, Logger: c.Logger.With("component", "moderator")})
	if c.Git != nil {
		git.Door, git.Keeps = n.Door, n.Moderator.KeepsData
		n.Host = hosting.New(git)
	}
	n.Reports, err = reports.Open(context.Background(), reports.Config{Store: n.Store, Door: n.Door, Moderator: n.Moderator, Now: c.Now, Logger: c.Logger.With("component", "reports")})
	return err
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
