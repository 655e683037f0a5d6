package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// keyOptions are the settings of the key command.
type keyOptions struct {
	Config
	replace bool
}

func (o *keyOptions) settings() []setting {
	return append(o.dataSettings(), boolean("replace", "false", "import a key over another one that the relay has; that one is lost unless you exported it", &o.replace))
}

// keyCommand prints the relay's public key, and carries its secret key from one data directory to another.
func keyCommand(_ context.Context, args []string, std stdio, env environment) (err error) {
	var o keyOptions
	rest, problems, err := parse("key", o.settings(), args, env)
	if err != nil {
		return err
	}
	if len(rest) > 0 && (len(rest) != 2 || !slices.Contains([]string{"export", "import"}, rest[0])) {
		problems = append(problems, fmt.Sprintf("key takes export FILE or import FILE, where - is standard output or input, or nothing; got %q", rest))
	}
	if len(rest) == 2 && rest[0] == "export" && rest[1] == "-" {
		problems = append(problems, readByOthers(std.out, "it", "graspd key export - >relay.key")...)
	}
	if err := misused(problems); err != nil {
		return err
	}
	switch {
	case len(rest) == 0:
		err = o.show(std)
	case rest[0] == "export":
		err = o.export(rest[1], std)
	default:
		err = o.take(rest[1], std)
	}
	if err != nil {
		return fmt.Errorf("key: %w", err)
	}
	return nil
}

// show prints the public key.
func (o *keyOptions) show(std stdio) error {
	key, err := node.ReadKey(o.Data)
	if err != nil {
		return err
	}
	return printKey(std.out, key.PubKey())
}

func printKey(w io.Writer, pk nostr.PubKey) error {
	_, err := fmt.Fprintf(w, "%s\n%s\n", nip19.Npub(pk), pk)
	return err
}

// export writes the secret key into a new file, for its owner alone, or to the standard output.
func (o *keyOptions) export(name string, std stdio) error {
	key, err := node.ReadKey(o.Data)
	if err != nil {
		return err
	}
	if name == "-" {
		return node.WriteKey(std.out, key)
	}
	if err := node.NewKeyFile(name, key); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "the secret key of %s is in %s: whoever reads it can speak for this relay\n", nip19.Npub(key.PubKey()), name)
	return nil
}

// take reads a secret key from a file and makes it the key of the relay.
func (o *keyOptions) take(name string, std stdio) (err error) {
	b, err := readKeyFile(name, std)
	if err != nil {
		return err
	}
	key, err := node.ParseKey(b)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer o.restoreOwner(&err)
	switch err := node.SetKey(o.Data, key, o.replace); {
	case errors.Is(err, store.ErrInUse):
		return fmt.Errorf("%w; a running relay keeps the key that it has", err)
	case errors.Is(err, node.ErrOtherKey):
		return fmt.Errorf("%w: export that one first where it is needed, and add --replace", err)
	case err != nil:
		return err
	}
	fmt.Fprintf(std.out, "the relay in %s is %s\n", o.Data, nip19.Npub(key.PubKey()))
	return nil
}

// mostKey bounds what is read of a file that should hold a key.
const mostKey = 1 << 10

func readKeyFile(name string, std stdio) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(std.in, mostKey))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, mostKey))
	return b, errors.Join(err, f.Close())
}
