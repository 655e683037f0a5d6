package main

import (
	"slices"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/web"
)

// resolved has the relays, keys and lists that the settings name, many of them in files, and the look of pages. It is read once per start or
// reload.
type resolved struct {
	bootstrap, index []grasp.RelayURL
	admins           []nostr.PubKey
	members          policy.PubKeys
	lists            policy.Lists
	about            string // Markdown
	look             web.Look
}

// read reads everything that the settings name. It returns all problems: with what they name, and with settings that do not go together.
func (c *Config) read() (r resolved, problems []string) {
	if _, err := c.service(); err != nil {
		problems = append(problems, err.Error())
	}
	var found [7][]string
	r.bootstrap, found[0] = c.bootstrap()
	r.index, found[1] = c.index()
	r.admins, found[2] = c.admins()
	r.members, found[3] = c.members()
	r.lists, found[4] = c.lists()
	r.about, found[5] = c.about()
	r.look, found[6] = c.look()
	return r, slices.Concat(problems, slices.Concat(found[:]...), c.archive(), c.backupsBeside(), c.localPacks(), c.lateCommits(), c.cluster())
}
