package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// environment has the variables that are set, by their names.
type environment map[string]string

// environmentOf reads the pairs of os.Environ.
func environmentOf(pairs []string) environment {
	e := make(environment, len(pairs))
	for _, p := range pairs {
		name, value, _ := strings.Cut(p, "=")
		e[name] = value
	}
	return e
}

// unknown returns a problem for each variable that looks like a setting of graspd but belongs to no command. Without that nobody would
// notice a slip, which leaves the setting at its default.
func (e environment) unknown() (problems []string) {
	var known []string
	for _, c := range commands() {
		for _, s := range c.rows(e) {
			known = append(known, s.env())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if !strings.HasPrefix(name, variables) || strings.HasSuffix(name, originMark) || slices.Contains(known, name) || ofNeighbours(name, e[name]) {
			continue
		}
		if meant, ok := nearest(name[len(variables):], trimmed(known)); ok {
			problems = append(problems, fmt.Sprintf("there is no variable %s; did you mean %s%s?", name, variables, meant))
		} else {
			problems = append(problems, fmt.Sprintf("there is no variable %s (docs/FLAGS.md lists the flags: --log-level is %sLOG_LEVEL); unset it", name, variables))
		}
	}
	return problems
}

// variables is how the names of graspd's variables begin.
const variables = "GRASPD_"

func trimmed(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strings.TrimPrefix(n, variables)
	}
	return out
}

// ofNeighbours reports whether a variable tells containers about a service that happens to be called graspd. Kubernetes and Docker's links
// set such variables, and they are no settings.
func ofNeighbours(name, value string) bool {
	name = strings.TrimPrefix(name, variables)
	rest, port := strings.CutPrefix(name, "PORT_")
	return name == "SERVICE_HOST" || name == "SERVICE_PORT" || strings.HasPrefix(name, "SERVICE_PORT_") ||
		name == "PORT" && strings.Contains(value, "://") || port && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}
