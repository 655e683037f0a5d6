package node

import (
	"log/slog"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip98"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/members"
	"github.com/graspd/graspd/internal/serve/relay"
)

// Private says that a node serves its members alone (GRASP-08). Members authenticate before they read or write over the WebSocket, and sign
// every other request that tells what is here.
type Private struct {
	Members policy.PubKeys // the members at first; Set changes them
}

// newCircle makes the members of a private node.
func (c Config) newCircle() *members.Circle {
	if c.Private == nil {
		return nil
	}
	return members.New(c.Private.Members)
}

// signers returns the members whose signed HTTP requests the front answers; nil is everybody.
func (n *Node) signers() front.Members {
	if n.circle == nil {
		return nil
	}
	return members.Signer{Circle: n.circle, Service: n.cfg.Service, Now: n.cfg.Now}
}

// readers returns the members who may use the WebSocket; nil is everybody.
func (n *Node) readers() relay.Members {
	if n.circle == nil {
		return nil
	}
	return n.circle
}

// setMembers replaces the members, and ends the connections of those who are no members any more.
func (n *Node) setMembers(keys policy.PubKeys) {
	if n.circle == nil || keys == nil {
		return
	}
	n.circle.Set(keys)
	n.Front.Expel()
	n.Relay.Expel()
}

// credentials returns what a private node shows to the servers of other members when it fetches git data; nil for a public node.
func (n *Node) credentials(who Identity) func(repository string) string {
	if n.peers == nil {
		return nil
	}
	return func(repository string) string {
		if !n.peers.TrustsServer(repository) {
			return ""
		}
		value, err := nip98.SignStanding(repository, n.cfg.Now(), who.Sign)
		if err != nil {
			n.log.Error("a request for git data cannot be signed", "error", err)
		}
		return value
	}
}

// memberCount returns the attributes that log lines have about members.
func (n *Node) memberCount() []any {
	if n.circle == nil {
		return nil
	}
	return []any{slog.Int("members", n.circle.Len())}
}
