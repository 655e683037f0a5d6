// Command gogit is a client of go-git: gogit VERB URL DIRECTORY [ARGUMENT], see clients_test.go.
package main

import (
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: gogit VERB URL DIRECTORY [ARGUMENT]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(verb, url, dir string, arguments []string) error {
	switch verb {
	case "clone":
		_, err := git.PlainClone(dir, false, &git.CloneOptions{URL: url, Progress: os.Stderr})
		return err
	case "shallow":
		_, err := git.PlainClone(dir, false, &git.CloneOptions{URL: url, Progress: os.Stderr, Depth: 1})
		return err
	}
	r, err := git.PlainOpen(dir)
	if err != nil {
		return err
	}
	remote, err := r.Remote("origin")
	if err != nil {
		return err
	}
	switch {
	case verb == "fetch":
		err = remote.Fetch(&git.FetchOptions{RemoteURL: url, Progress: os.Stderr})
	case verb == "deepen":
		err = remote.Fetch(&git.FetchOptions{RemoteURL: url, Progress: os.Stderr, Depth: math.MaxInt32})
	case verb == "id" && len(arguments) == 1:
		err = remote.Fetch(&git.FetchOptions{RemoteURL: url, Progress: os.Stderr, RefSpecs: specs(arguments[0] + ":refs/heads/by-id")})
	case verb == "push":
		err = remote.Push(&git.PushOptions{RemoteURL: url, Progress: os.Stderr, RefSpecs: specs(arguments...)})
	default:
		return errors.New("go-git has no way to do this")
	}
	if errors.Is(err, git.NoErrAlreadyUpToDate) {
		return nil
	}
	return err
}

func specs(texts ...string) (s []config.RefSpec) {
	for _, t := range texts {
		s = append(s, config.RefSpec(t))
	}
	return s
}
