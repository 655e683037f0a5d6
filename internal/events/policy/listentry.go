package policy

import (
	"errors"
	"fmt"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var errRepositoryEntry = errors.New("want a repository, as <npub>/<identifier>, naddr1…, its URL or 30617:<public key>:<identifier>, or an npub for all of its author's")

// AddAuthor adds an entry of a list of authors. It reads the entry by grasp.ParseAuthor.
func (p *PubKeys) AddAuthor(entry string) error {
	pk, err := grasp.ParseAuthor(entry)
	if err != nil {
		return err
	}
	p.add(pk)
	return nil
}

func (p *PubKeys) add(pk nostr.PubKey) {
	if *p == nil {
		*p = make(PubKeys)
	}
	(*p)[pk] = struct{}{}
}

// AddRepository adds an entry of a list of repositories. It reads the entry by grasp.ParseNamed; an author alone stands for all their
// repositories.
func (r *Repositories) AddRepository(entry string) error {
	if pk, err := grasp.ParseAuthor(entry); err == nil || errors.Is(err, grasp.ErrSecret) {
		if err == nil {
			r.Owners.add(pk)
		}
		return err
	}
	a, err := grasp.ParseRepository(entry)
	if err != nil {
		return fmt.Errorf("%w (%w)", errRepositoryEntry, err)
	}
	put(&r.Addresses, a)
	return nil
}
