package main

import (
	"context"
	"maps"
	"os"
	"slices"

	"github.com/graspd/graspd/internal/node"
)

// loadedSettings has what flags, variables and the configuration file said when they were read.
type loadedSettings struct {
	Config
	resolved resolved
	values   map[string][]string // by flag, as the operator wrote them
}

// reloadable names the settings that may change while graspd runs.
var reloadable = []string{"name", "description", "contact", "pubkey", "icon", "banner", "terms-of-service", "posting-policy", "about", "min-pow",
	"allow-pubkeys", "deny-pubkeys", "allow-repositories", "deny-repositories", "archive", "members", "git-max-push", "git-max-repository", "git-max-author", "git-max-data"}

// loadSettings reads the settings of serve, and returns everything that is wrong with them.
func loadSettings(args []string, std stdio, env environment) (s loadedSettings, problems []string, err error) {
	rows := s.settings()
	s.values = recorded(rows)
	problems, err = parseAlone("serve", "; a switch is turned off as --sync=false", rows, args, env)
	if err != nil {
		return s, nil, err
	}
	read, wrong := s.read()
	s.resolved = read
	return s, append(problems, wrong...), nil
}

// recorded has each row note the texts that it is set to, and returns these by flag. It changes rows.
func recorded(rows []setting) map[string][]string {
	values := make(map[string][]string)
	for i, r := range rows {
		rows[i].set = func(s string) error { values[r.name] = append(values[r.name], s); return r.set(s) }
	}
	return values
}

// restarts names the settings that have changed since the start and take effect only after a restart.
func (s loadedSettings) restarts(now loadedSettings) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(now.values)) {
		if !slices.Contains(reloadable, name) && name != "config" && !slices.Equal(s.values[name], now.values[name]) {
			names = append(names, name)
		}
	}
	return names
}

// reloadOn reads all settings anew at each signal until ctx ends, and puts in force what may change.
func reloadOn(ctx context.Context, start loadedSettings, again func() (loadedSettings, []string), n *node.Node, signals <-chan os.Signal, by manager) {
	for {
		select {
		case <-signals:
			by.during(func() { reload(ctx, start, again, n) })
		case <-ctx.Done():
			return
		}
	}
}

// reload reads all settings anew once. If anything is wrong with one of them, all stay as they are.
func reload(ctx context.Context, start loadedSettings, again func() (loadedSettings, []string), n *node.Node) {
	log := n.Log()
	now, problems := again()
	for _, p := range problems {
		log.Error("a setting cannot be read again", "problem", p)
	}
	if len(problems) > 0 {
		log.Error("the settings stay as they were")
		return
	}
	for _, name := range start.restarts(now) {
		log.Warn("a setting takes effect after a restart", "setting", name)
	}
	n.Set(ctx, node.Settings{Info: now.Info, About: now.resolved.about, MinPoW: now.MinPoW, Lists: now.resolved.lists, Git: now.Git.Limits, Members: now.resolved.members})
}
