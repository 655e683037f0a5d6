package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/objects/s3"
	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/latelog"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/operate/progress"
)

// bucketSetting is the setting of every command that uses a bucket. A wrong value is a problem of bucket, as no error of a setting may repeat a
// secret.
func bucketSetting(about string, v **s3.Location) setting {
	return setting{name: "bucket", placeholder: "URL", about: about, secret: true, set: func(s string) error {
		if s == "" {
			return nil
		}
		at, err := s3.ParseLocation(s)
		if err == nil {
			*v = &at
		}
		return err
	}}
}

// openBucket opens the bucket of a location; nil for none.
func openBucket(at *s3.Location) (*node.Bucket, error) {
	if at == nil {
		return nil, nil
	}
	b, err := s3.Open(*at, nil)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("the name of this machine: %w", err)
	}
	return &node.Bucket{Objects: objects.Watch(b), Name: at.String(), Host: host}, nil
}

// localPacks returns what is wrong with --git-local.
func (c *Config) localPacks() []string {
	switch n := c.Git.Local; {
	case n == 0:
	case c.Bucket == nil:
		return []string{"--git-local: of no effect without --bucket; add that, or leave it out"}
	case n < c.Git.Limits.Repository:
		return []string{fmt.Sprintf("--git-local: %s are less than one repository may have (--git-max-repository %s)", sizeText(n), sizeText(c.Git.Limits.Repository))}
	}
	return nil
}

// mostLate is how late a commit may come into a bucket at most.
const mostLate = time.Minute

// lateCommits returns what is wrong with --bucket-commit.
func (c *Config) lateCommits() []string {
	switch {
	case c.BucketCommit == 0:
	case c.Bucket == nil:
		return []string{"--bucket-commit: of no effect without --bucket; add that, or leave it out"}
	case c.ClusterListen != "":
		return []string{"--bucket-commit: of no use with --cluster-listen, as the nodes that follow have what the bucket has; leave one of them out"}
	case c.BucketCommit > mostLate:
		return []string{fmt.Sprintf("--bucket-commit: %v is not allowed: at most %v", c.BucketCommit, mostLate)}
	}
	return nil
}

// newNode makes the node. With a bucket it fills an empty data directory before, and one that is too far behind.
func newNode(ctx context.Context, c node.Config, screen *progress.Screen, log *slog.Logger) (*node.Node, error) {
	if c.Bucket == nil {
		return node.New(c)
	}
	p := progress.NewMeter(screen, "filling the data directory from the bucket", "MiB", time.Now)
	defer p.End()
	show := showBytes(p)
	if err := node.Prepare(ctx, c, show); err != nil {
		return nil, bucketAdvice(err, &c)
	}
	n, err := node.New(c)
	if errors.Is(err, commitlog.ErrGap) {
		if err := node.Refill(ctx, c, show); err != nil {
			return nil, err
		}
		n, err = node.New(c)
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

func showBytes(p *progress.Meter) func(done, all int64) {
	return func(done, all int64) { p.Show(done, all, done>>20) }
}

// bucketAdvice adds what the operator can do.
func bucketAdvice(err error, c *node.Config) error {
	switch {
	case errors.Is(err, node.ErrEnlist), errors.Is(err, node.ErrCut):
		return fmt.Errorf("%w: put it there with graspd bucket init --bucket '%s' --from %s, or name another bucket or prefix", err, c.Bucket.Name, c.Dir)
	case errors.Is(err, node.ErrOthers):
		return fmt.Errorf("%w: name the other bucket or prefix, or another data directory (an empty one is filled from the bucket)", err)
	}
	if errors.Is(err, latelog.ErrLeft) {
		return fmt.Errorf("%w: another graspd has written the bucket meanwhile; to go on with what it has, start on an empty data directory, and publish from this one what is missed there", err)
	}
	if errors.Is(err, store.ErrDamaged) {
		return fmt.Errorf("%w: what is in the bucket is whole all the same: remove %s, and the next start fills it", err, node.StoreIn(c.Dir))
	}
	return err
}

// bucketOptions are the settings of the bucket command.
type bucketOptions struct {
	Config
	from string
}

func (o *bucketOptions) settings() []setting {
	return append([]setting{
		bucketSetting("where the bucket is: "+s3.Form, &o.Bucket),
		text("from", "", "init: the data directory of a stopped relay, whose events, git data, decisions and key go into the bucket", &o.from).as("DIR"),
	}, o.dataSettings()[1:]...) // without the data directory
}

// bucketWords are what the bucket command does.
var bucketWords = []string{"init", "status", "export"}

// bucketCommand fills a bucket, shows what it has, or makes a data directory of it.
func bucketCommand(ctx context.Context, args []string, std stdio, env environment) error {
	var o bucketOptions
	rest, problems, err := parse("bucket", o.settings(), args, env)
	if err = cmp.Or(err, misused(append(problems, o.wrong(rest)...))); err != nil {
		return err
	}
	b, err := openBucket(o.Bucket)
	if err != nil {
		return err
	}
	switch rest[0] {
	case "init":
		err = o.fill(ctx, b, std)
	case "export":
		err = o.export(ctx, b, rest[1], std)
	default:
		err = printBucket(ctx, b, std)
	}
	if err != nil {
		return fmt.Errorf("bucket %s: %w", rest[0], err)
	}
	return nil
}

func (o *bucketOptions) wrong(rest []string) (problems []string) {
	if o.Bucket == nil {
		problems = append(problems, "--bucket: needed: "+s3.Form)
	}
	switch {
	case len(rest) == 0 || !slices.Contains(bucketWords, rest[0]):
		problems = append(problems, fmt.Sprintf("bucket takes init, status, or export DIR; got %q", rest))
	case rest[0] == "export" && len(rest) != 2:
		problems = append(problems, fmt.Sprintf("bucket export takes one new directory DIR, got %q", rest[1:]))
	case rest[0] != "export" && len(rest) > 1:
		problems = append(problems, fmt.Sprintf("bucket %s takes no argument %q", rest[0], rest[1]))
	case rest[0] == "init" && o.from == "":
		problems = append(problems, "--from: needed by bucket init: the data directory of a stopped relay")
	case rest[0] != "init" && o.from != "":
		problems = append(problems, "--from: of no use but to bucket init")
	}
	return problems
}

// fill puts a data directory into a bucket.
func (o *bucketOptions) fill(ctx context.Context, b *node.Bucket, std stdio) (err error) {
	o.Data = o.from
	defer o.restoreOwner(&err)
	if _, err := os.Stat(node.StoreIn(o.from)); err != nil {
		return err
	}
	packs, p := meterOf(std, o.Quiet, "filling the bucket with git data", "MiB"), meterOf(std, o.Quiet, "filling the bucket", "MiB")
	defer packs.End()
	defer p.End()
	before, err := b.Init(ctx, o.from, o.storeOptions(), showBytes(packs), showBytes(p))
	packs.End()
	p.End()
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "the bucket has the events, the git data, the decisions and the key of %s; from now on start graspd serve with --bucket '%s'\n", o.from, b.Name)
	fmt.Fprintf(std.out, "the store as it was is in %s: remove it once the relay runs\n", before)
	return nil
}

// export makes a data directory of a bucket.
func (o *bucketOptions) export(ctx context.Context, b *node.Bucket, dir string, std stdio) error {
	p, packs := meterOf(std, o.Quiet, "reading the bucket", "MiB"), meterOf(std, o.Quiet, "reading git data", "MiB")
	defer p.End()
	defer packs.End()
	wrong, err := b.Export(ctx, dir, o.storeOptions(), showBytes(p), showBytes(packs))
	p.End()
	packs.End()
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "%s has the events, the git data, the decisions and the key of the bucket; graspd serve --data %s needs no bucket\n", dir, dir)
	if len(wrong) == 0 {
		return nil
	}
	said := []string{"but git data is lost in the bucket:"}
	for _, one := range wrong {
		said = append(said, oneLine(one))
	}
	return findings(append(said, "graspd check --repair --data "+dir+" goes on with what is whole"))
}

// printBucket shows what a bucket has.
func printBucket(ctx context.Context, b *node.Bucket, std stdio) error {
	s, err := b.Status(ctx)
	if err != nil {
		return err
	}
	w := std.out
	fmt.Fprintf(w, "%s\n", b.Name)
	fmt.Fprintf(w, "written by %s (term %d)\n", s.Leader, s.Term)
	fmt.Fprintf(w, "commit log: up to position %d, %s, %s\n", s.Log.Last, safetext.Number(s.Log.Entries, "object", "objects"), bytesText(s.Log.Bytes))
	if len(s.Snapshots) == 0 {
		fmt.Fprintln(w, "no snapshot yet: an empty machine reads the whole log")
	}
	for _, x := range s.Snapshots {
		fmt.Fprintf(w, "snapshot: position %d, made %s, %s, %s\n", x.Place.Position, x.Made.UTC().Format(time.RFC3339), safetext.Number(len(x.Files), "file", "files"), bytesText(x.Bytes()))
	}
	if len(s.Wrong) > 0 {
		return errors.Join(s.Wrong...)
	}
	return nil
}

// bytesText writes a size for people.
func bytesText(n int64) string {
	for _, u := range units {
		if u.shift > 0 && n >= 1<<u.shift {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(int64(1)<<u.shift), u.suffix)
		}
	}
	return safetext.Number(n, "byte", "bytes")
}
