package node

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/operate/against"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relayconn"
	"github.com/graspd/graspd/internal/sync/relayread"
)

// Against compares this relay with another one, which the operator names, whatever its address. It takes one request after the other.
func (n *Node) Against(ctx context.Context, u grasp.RelayURL) (r against.Report, err error) {
	operators := publicnet.Config{AllowPrivate: true, Service: n.cfg.Service.Host()}
	conn, err := relayconn.New(relayconn.Config{Net: operators, UserAgent: "graspd/" + n.cfg.Version}).Dial(ctx, u)
	if err != nil {
		return r, fmt.Errorf("%s: %w", u, err)
	}
	other := relayread.New(conn)
	here, there, err := n.gather(ctx, other.Read)
	_ = conn.Close("compared") // what was read stays true, however the relay takes its leave
	if err != nil {
		return r, fmt.Errorf("%s: %w", u, err)
	}
	if n.reader != nil {
		git := gitfetch.New(gitfetch.Config{Net: operators, Agent: "graspd/" + n.cfg.Version})
		if err := n.gatherRefs(ctx, u, git, &here, &there); err != nil {
			return r, err
		}
	}
	known, err := n.known(against.OnlyThere(here, there))
	if err != nil {
		return r, err
	}
	r = against.Compare(here, there, known)
	r.Here, r.There, r.Unproven = string(n.cfg.Service.RelayURL()), string(u), other.Unproven()
	return r, nil
}

// gather reads what both relays have of all repositories that one of them announces for this relay.
func (n *Node) gather(ctx context.Context, other against.Asker) (here, there against.Holdings, err error) {
	all := map[nip34.Address]bool{}
	for _, x := range []struct {
		*against.Holdings
		against.Asker
	}{{&here, n.stored}, {&there, other}} {
		if x.Announced, err = against.Announcements(ctx, x.Asker, n.rules.Rules().Serves); err != nil {
			return here, there, err
		}
		for of := range x.Announced {
			all[of] = true
		}
	}
	if here.Events, err = against.Events(ctx, n.stored, all); err != nil {
		return here, there, err
	}
	there.Events, err = against.Events(ctx, other, all)
	return here, there, err
}

// stored is the against.Asker of this relay.
func (n *Node) stored(ctx context.Context, f nostr.Filter, do func(*nostr.Event) error) error {
	v := n.Store.View()
	defer v.Close()
	for e, err := range v.Events(ctx, f) {
		if err == nil {
			err = do(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// gatherRefs reads what both relays show of the git data of all repositories.
func (n *Node) gatherRefs(ctx context.Context, u grasp.RelayURL, git *gitfetch.Client, here, there *against.Holdings) error {
	here.Refs, there.Refs = map[nip34.Address]against.Refs{}, map[nip34.Address]against.Refs{}
	for _, announced := range []map[nip34.Address]bool{here.Announced, there.Announced} {
		for of := range announced {
			if _, done := there.Refs[of]; done {
				continue
			}
			r, _, err := n.reader.Find(of)
			if err != nil {
				return fmt.Errorf("refs of %s: %w", of, err)
			}
			here.Refs[of] = shownRefs(r.Refs)
			there.Refs[of] = refsThere(ctx, git, u, of)
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return nil
}

// refsThere reads what another relay shows of a repository.
func refsThere(ctx context.Context, git *gitfetch.Client, u grasp.RelayURL, of nip34.Address) against.Refs {
	source, ok := u.Source(of.PubKey, of.D)
	if !ok {
		return against.Refs{}
	}
	r, err := git.Advertised(ctx, gitfetch.Request{URL: string(source), Exempt: []grasp.Source{source}})
	if status, is := errors.AsType[*gitfetch.StatusError](err); is && (status.Code == 404 || status.Code == 410) {
		return against.Refs{} // it has none
	}
	if err != nil {
		text, _ := safetext.Cut(safetext.Printable(err.Error()), 300)
		return against.Refs{Unread: text}
	}
	return shownRefs(r.Refs)
}

func shownRefs(r *gitwire.Refs) against.Refs {
	out := against.Refs{List: map[string]string{}}
	if r == nil {
		return out
	}
	for _, x := range r.List {
		out.List[x.Name] = x.ID.String()
		out.Signed = out.Signed || !strings.HasPrefix(x.Name, "refs/nostr/")
	}
	return out
}

// known returns what this relay knows of events.
func (n *Node) known(ids []nostr.ID) (map[nostr.ID]store.Knowledge, error) {
	out := make(map[nostr.ID]store.Knowledge, len(ids))
	v := n.Store.View()
	defer v.Close()
	for _, id := range ids {
		k, err := v.Known(id)
		if err != nil {
			return nil, fmt.Errorf("what is known of %s: %w", id, err)
		}
		out[id] = k
	}
	return out, nil
}
