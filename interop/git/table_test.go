package git

import "path/filepath"

// client is a program that speaks git's protocol, and what is expected of it.
type client struct {
	name    string
	program func(verb, url, dir string, arguments []string) []string
	// lacks are the verbs that it has no way to do, whatever the server; each with the reason.
	lacks map[string]string
	// nothing is what it says of a repository where nothing was pushed yet, if it takes that for an error.
	nothing string
	// report and band: it shows the reason beside the ref, and the lines that the server sends meanwhile.
	report, band bool
	// deaf: it takes the error that answers a fetch for a pack of nothing.
	deaf bool
}

// Why clients cannot do something.
const (
	noFilter = "has no way to ask for a part of the objects"
	notLater = "fetches nothing later that it has left out"
)

var clients = []client{
	{name: "git-v0", program: machine("0"), report: true, band: true},
	{name: "git-v1", program: machine("1"), report: true, band: true},
	{name: "git-v2", program: machine("2"), report: true, band: true},
	{name: "libgit2", program: script("venv/bin/python", "libgit2.py"), report: true, band: true, lacks: map[string]string{"filter": noFilter}},
	{name: "dulwich", program: script("venv/bin/python", "dulwich_client.py"), report: true, band: true,
		lacks:   map[string]string{"lazily": notLater},
		nothing: "neither origin_head nor branch are provided"}, // it wants a HEAD of an empty repository too
	{name: "isomorphic", program: script("", "isomorphic.mjs"), report: true, band: true, deaf: true, lacks: map[string]string{
		"filter":  noFilter,
		"several": "pushes one ref at a time",
	}},
	{name: "go-git", program: func(verb, url, dir string, arguments []string) []string {
		return append([]string{gogit, verb, url, dir}, arguments...)
	}, report: true, band: true, nothing: "remote repository is empty", lacks: map[string]string{
		"filter": noFilter,
		"deepen": "takes for up to date what it has the tips of",
	}},
}

// script is a client beside this file, run by an interpreter that make clients has installed, or else by node.
func script(interpreter, file string) func(verb, url, dir string, arguments []string) []string {
	return func(verb, url, dir string, arguments []string) []string {
		with := "node"
		if interpreter != "" {
			with = filepath.Join(tools, interpreter)
		}
		return append([]string{with, file, verb, url, dir}, arguments...)
	}
}

// machine is the git of the machine with a version of the protocol.
func machine(version string) func(verb, url, dir string, arguments []string) []string {
	return func(verb, url, dir string, arguments []string) []string {
		args := []string{"git", "-c", "protocol.version=" + version}
		switch verb {
		case "clone":
			args = append(args, "clone", url, dir)
		case "shallow":
			args = append(args, "clone", "--depth=1", url, dir)
		case "filter":
			args = append(args, "clone", "--filter=blob:none", "--no-checkout", url, dir)
		case "fetch":
			args = append(args, "-C", dir, "fetch", "origin")
		case "deepen":
			args = append(args, "-C", dir, "fetch", "--unshallow", "origin")
		case "lazily":
			args = append(args, "-C", dir, "cat-file", "blob")
		case "id":
			args = append(args, "-C", dir, "fetch", url)
		case "push":
			args = append(args, "-C", dir, "push", url)
		}
		return append(args, arguments...)
	}
}
