package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/objects/s3"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/operate/logs"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/relaysync"
)

// Where graspd listens by default.
const (
	usualListen      = "127.0.0.1:7334"
	usualAdminListen = "127.0.0.1:7335"
)

// setting is one row of the flag table: the name of a flag, its meaning, its default as text, and how a text becomes a value.
type setting struct {
	name, def, about string
	placeholder      string // the word for a value in the help; "" for a switch
	set              func(string) error
	isBool           bool
	isList           bool // a list: several values count together
	secret           bool // what was given instead of a value may have a secret, and no error repeats it
}

// as returns the setting with another word for its value in the help.
func (s setting) as(placeholder string) setting { s.placeholder = placeholder; return s }

// env returns the environment variable of a flag.
func (s setting) env() string {
	return variables + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

// dataSettings returns the settings of every command that opens the store.
func (c *Config) dataSettings() []setting {
	o := store.Defaults()
	return []setting{
		dataSetting(&c.Data),
		size("store-cache", o.CacheBytes, 1<<20, "memory in which the store keeps what it has read from the disk", &c.Cache),
		size("disk-floor", int64(o.Floor), 0, "free disk space below which graspd stores nothing more; it keeps 10,000 inodes free too, unless this is 0", &c.DiskFloor),
		level("log-level", "info", "debug, info, warn or error", &c.LogLevel),
		oneOf("log-format", "text", "text, or json for machines", &c.LogFormat, logs.Text, logs.JSON),
		boolean("quiet", "false", "show no progress on a terminal", &c.Quiet),
		configSetting(),
	}
}

func dataSetting(v *string) setting {
	return text("data", "./graspd-data", "directory of the data: events, repositories and the relay's own key", v).as("DIR")
}

// policySettings returns the settings of every command that decides what is accepted.
func (c *Config) policySettings() []setting {
	return []setting{
		text("listen", usualListen, "address on which graspd listens for clients, git and browsers", &c.Listen).as("HOST:PORT"),
		text("domain", "", "public host[:port][/path] by which announcements list this relay (default: the listen address)", &c.Domain).as("HOST[:PORT][/PATH]"),
		boolean("git", "true", "host the repositories: people clone and push over HTTP (GRASP-01)", &c.HostsGit),
		boolean("contributors", "false", "accept pull requests that contributors push to /prs/<their npub>/<identifier>.git, also for repositories elsewhere (GRASP-06); needs --git", &c.Git.Contributors),
		number("min-pow", 0, 0, 64, "bits of proof of work that an event needs (NIP-13), whether a client or a relay brings it; 0 = none", &c.MinPoW),
		list("allow-pubkeys", "", "accept events of these authors only: npub or hex, or @FILE with one a line, which graspd reads again on SIGHUP", &c.AllowPubKeys).as("NPUB,…|@FILE"),
		list("deny-pubkeys", "", "accept no events of these authors, written as for --allow-pubkeys", &c.DenyPubKeys).as("NPUB,…|@FILE"),
		list("allow-repositories", "", "accept these repositories only: 30617:key:identifier, naddr, npub/identifier, or an npub for all of its author's; or @FILE", &c.AllowRepositories).as("REPOSITORY,…|@FILE"),
		list("deny-repositories", "", "accept none of these repositories, written as for --allow-repositories", &c.DenyRepositories).as("REPOSITORY,…|@FILE"),
		list("archive", "", "keep repositories that do not list this relay, too (GRASP-05): all, an author's, a repository, an identifier, or the wss:// URL of a relay to mirror; or @FILE, which graspd reads again on SIGHUP", &c.Archive).as("ENTRY,…|@FILE"),
		boolean("mailboxes", "false", "once a day, also ask the relays to which participants write for what they wrote about what is here (GRASP-03); needs --sync, not with --private", &c.Mailboxes),
	}
}

// doorSettings returns the settings of every command that stores events by the rules.
func (c *Config) doorSettings() []setting { return append(c.policySettings(), c.dataSettings()...) }

// settings returns all settings of serve.
func (c *Config) settings() []setting { return append(c.doorSettings(), c.serveSettings()...) }

// serveSettings returns the settings that only serve has.
func (c *Config) serveSettings() []setting {
	e, p := relaysync.Defaults(), peer.Defaults()
	engine, peer, git := &c.Engine, &c.Engine.Peer, hosting.DefaultLimits()
	return []setting{
		text("admin-listen", usualAdminListen, "private address on which graspd serves the operator's page, /status.json, /metrics, /healthz and /readyz; or unix:PATH for a socket that user and group of graspd may use; empty = off", &c.AdminListen).as("HOST:PORT|unix:PATH"),
		text("git-program", "git", "git, 2.39.5 or newer: a path, or a name on PATH", &c.Git.Program).as("PATH"),
		size("git-max-push", git.Push, 1, "largest pack of one push", &c.Git.Limits.Push),
		size("git-max-repository", git.Repository, 1, "most disk that one repository may take", &c.Git.Limits.Repository),
		size("git-max-author", git.Author, 1, "most disk that the repositories of one owner may take", &c.Git.Limits.Author),
		size("git-max-data", 0, 0, "most disk that all git data may take; 0 = what is free above --disk-floor", &c.Git.Limits.Total),
		number("git-processes", 0, 0, 1000, "how many packs graspd makes for clients at once; 0 = twice the processors", &c.Git.Processes),
		size("git-cache", githttp.DefaultCacheBytes, 0, "disk for packs that graspd keeps, for clients that ask for the same again", &c.Git.Cache),
		boolean("git-sync", "true", "fetch git data that is missing here from the servers that announcements name (GRASP-02); needs --sync", &c.GitSync),
		number("git-sync-concurrency", 8, 1, 1000, "how many fetches of git data run at once", &c.GitSyncConcurrency),
		boolean("archive-read-only", "false", "refuse pushes to repositories that are only archived", &c.ArchiveReadOnly),
		list("admin-pubkeys", "", "keys whose owners manage this relay over its public address, by signed requests (NIP-86) and on the operator's page at /operator/ (NIP-07): npub or hex, or @FILE with one a line", &c.AdminPubKeys).as("NPUB,…|@FILE"),
		boolean("private", "false", "serve members only (GRASP-08): they authenticate to the relay (NIP-42), and sign each request of git and each for a page (NIP-98)", &c.Private),
		list("members", "", "keys that may use a --private service, those of other private services that fill themselves from it included: npub or hex, or @FILE with one a line. On SIGHUP graspd reads it again and sends away whoever is no member any more", &c.Members).as("NPUB,…|@FILE"),
		list("admin-hosts", "", "host names by which a browser may open the operator's page at --admin-listen, besides addresses and names without a dot", &c.AdminHosts).as("HOST,…"),
		prefixes("trusted-proxies", "", "addresses or CIDRs of the web servers in front, whose X-Forwarded-For graspd believes; set this where there is one", &c.TrustedProxies).as("CIDR,…"),
		list("bootstrap", "", "relays to fill this one from: they bring the repositories that list this relay, events and git data, at the start and from then on; may be repeated", &c.Bootstrap).as("URL,…"),
		list("index-relays", "", "relays to ask for participants' lists of relays; needs --mailboxes; may be repeated", &c.IndexRelays).as("URL,…"),
		boolean("sync", "true", "fetch from other relays what is missing here, and follow them", &c.Sync),
		boolean("sync-allow-private", "false", "connect to loopback, private and link-local addresses too, for events and git data; not on a public relay", &c.SyncAllowPrivate),
		duration("sync-batch-window", e.BatchWindow, 10*time.Millisecond, "how long graspd gathers changes, at most, before it asks other relays for more; after a rest a tenth of it", &c.SyncBatchWindow),
		duration("sync-quick-reconnect", p.QuickReconnect, time.Second, "when a connection was lost for less than this, graspd asks only for what is new", &peer.QuickReconnect),
		duration("sync-resync-interval", p.Resync, time.Minute, "time between two full comparisons with a relay, ± 1/24", &peer.Resync),
		duration("sync-check-interval", e.CheckEvery, time.Second, "how often graspd disconnects from relays that nothing names any more", &engine.CheckEvery),
		duration("sync-startup-delay", e.StartupDelay, 0, "wait before the first connection to another relay", &engine.StartupDelay),
		duration("sync-base-backoff", p.BaseBackoff, 100*time.Millisecond, "first wait after a failed connection; it doubles with each further one", &peer.BaseBackoff),
		duration("sync-max-backoff", p.MaxBackoff, time.Second, "longest wait after failed connections", &peer.MaxBackoff),
		duration("sync-dead-after", p.DeadAfter, time.Minute, "after how long without success a relay counts as dead", &peer.DeadAfter),
		duration("sync-dead-retry", p.DeadRetry, time.Minute, "how often graspd tries a dead relay", &peer.DeadRetry),
		number("sync-max-tags", p.MaxTags, 1, 2000, "most values in one filter of a request to another relay", &peer.MaxTags),
		number("sync-max-filters", p.MaxFilters, 1, 1000, "how many live filters one relay gets before graspd merges small requests", &peer.MaxFilters),
		number("sync-whole-from", p.WholeFrom, 1, 1_000_000_000, "how many repositories and root events graspd wants of a relay before it may compare everything with it at once", &peer.WholeFrom),
		number("sync-max-relays", e.MaxRelays, 1, 100_000, "how many relays graspd connects to at once at most, besides the bootstrap relays", &engine.MaxRelays),
		boolean("sync-negentropy", "true", "compare events with relays that can (NIP-77) instead of reading them page by page", &c.SyncNegentropy),
		bucketSetting("keep events and git data in this bucket of an object store, too: nothing that was acknowledged is lost with the disk, and an empty machine fills itself from it; "+s3.Form, &c.Bucket),
		size("git-local", 0, 0, "with --bucket, most disk for the packs of repositories that are used, at least --git-max-repository: those used longest ago go, and come again from the bucket; 0 = what is free above --disk-floor", &c.Git.Local),
		duration("bucket-commit", 0, 0, "how late a commit may come into --bucket that somebody has heard OK for, at most a minute: so much is lost with the disk; 0 = nobody hears OK before it is there", &c.BucketCommit),
		text("cluster-listen", "", "share --bucket with other machines, of which one writes and the others serve reading: the private address by which these reach this one, where graspd listens for them; empty = write it alone", &c.ClusterListen).as("HOST:PORT"),
		text("backup-dir", "", "directory for the backups that graspd makes by itself while it runs; empty = none", &c.Backups.Dir).as("DIR"),
		duration("backup-every", 24*time.Hour, time.Minute, "how often graspd makes a backup", &c.Backups.Every),
		number("backup-keep", 7, 1, 10_000, "how many backups stay; graspd removes older ones", &c.Backups.Keep),
		size("backup-rate", 64<<20, 0, "most bytes a second that graspd writes for a backup; 0 = as fast as the disk", &c.Backups.Rate),
		boolean("check", "false", "look once after the start at this relay and machine, as graspd doctor does, and warn in the log", &c.Check),
		text("name", "graspd", "name of the relay (NIP-11)", &c.Info.Name),
		text("description", "A Nostr relay for git collaboration. It keeps the repositories that list it complete, with what other relays and git servers have of them.", "what the relay is for, in a sentence or two (NIP-11)", &c.Info.Description),
		text("contact", "", "how to reach the operator, a URI such as mailto:… (NIP-11)", &c.Info.Contact).as("URI"),
		pubkey("pubkey", "", "public key of the operator, npub or hex (NIP-11); graspd says that they are _@DOMAIN (NIP-05)", &c.Info.PubKey).as("NPUB"),
		webURL("icon", "", "square picture of the relay (NIP-11)", &c.Info.Icon),
		webURL("banner", "", "wide picture of the relay (NIP-11)", &c.Info.Banner),
		webURL("terms-of-service", "", "page with the terms of service (NIP-11)", &c.Info.TermsOfService),
		webURL("posting-policy", "", "page that says what may be published here (NIP-11)", &c.Info.PostingPolicy),
		text("about", "", "Markdown at the top of the start page, of 32 KiB at most, or @FILE with it, which graspd reads again on SIGHUP", &c.About).as("TEXT|@FILE"),
		text("color", "", "colour of links on light public pages, #rgb or #rrggbb, readable on white; empty = graspd's own", &c.Color).as("COLOR"),
		text("color-dark", "", "colour of links on dark public pages, readable on black; empty = graspd makes it of --color", &c.ColorDark).as("COLOR"),
	}
}

func text(name, def, about string, v *string) setting {
	return setting{name: name, placeholder: "TEXT", def: def, about: about, set: func(s string) error { *v = s; return nil }}
}

func list(name, def, about string, v *[]string) setting {
	return setting{name: name, placeholder: "LIST", def: def, about: about, isList: true, set: func(s string) error {
		for _, x := range strings.Split(s, ",") {
			if x = strings.TrimSpace(x); x != "" && !slices.Contains(*v, x) {
				*v = append(*v, x)
			}
		}
		return nil
	}}
}

func prefixes(name, def, about string, v *[]netip.Prefix) setting {
	return setting{name: name, placeholder: "LIST", def: def, about: about, isList: true, set: func(s string) error {
		for _, x := range strings.Split(s, ",") {
			if x = strings.TrimSpace(x); x == "" {
				continue
			}
			p, err := netip.ParsePrefix(x)
			if err != nil {
				var a netip.Addr
				if a, err = netip.ParseAddr(x); err != nil {
					return errors.New("want addresses or CIDRs such as 127.0.0.1 or 10.0.0.0/8")
				}
				p = netip.PrefixFrom(a, a.BitLen())
			}
			if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
				p = netip.PrefixFrom(a.Unmap(), p.Bits()-96) // the relay compares clients' addresses without the mapping
			}
			*v = append(*v, p.Masked())
		}
		return nil
	}}
}

func boolean(name, def, about string, v *bool) setting {
	return setting{name: name, def: def, about: about, isBool: true, set: func(s string) error {
		b, err := strconv.ParseBool(s)
		if err != nil {
			return errors.New("want true or false")
		}
		*v = b
		return nil
	}}
}

func duration(name string, def, least time.Duration, about string, v *time.Duration) setting {
	return setting{name: name, placeholder: "DURATION", def: durationText(def), about: about, set: func(s string) error {
		d, err := parseDuration(s)
		if err != nil {
			return errors.New("want a duration such as 5s, 15m, 24h or 30d")
		}
		if d < least {
			return fmt.Errorf("want a duration of at least %v", least)
		}
		*v = d
		return nil
	}}
}

// parseDuration reads a duration as Go writes it, or whole days: 30d.
func parseDuration(s string) (time.Duration, error) {
	if days, is := strings.CutSuffix(s, "d"); is {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(s)
}

// durationText writes a duration without the units that are zero, and days from two on: 24h, not 24h0m0s; 30d, not 720h.
func durationText(d time.Duration) string {
	if day := 24 * time.Hour; d >= 2*day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func number(name string, def, least, most int, about string, v *int) setting {
	return setting{name: name, placeholder: "N", def: strconv.Itoa(def), about: about, set: func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most {
			return fmt.Errorf("want a number from %d to %d", least, most)
		}
		*v = n
		return nil
	}}
}

func size(name string, def, least int64, about string, v *int64) setting {
	return setting{name: name, placeholder: "SIZE", def: sizeText(def), about: about, set: func(s string) error {
		n, err := parseSize(s)
		if err != nil {
			return errors.New("want a size such as 512MiB or 2GiB")
		}
		if n < least {
			return fmt.Errorf("want at least %d bytes", least)
		}
		*v = n
		return nil
	}}
}

// units are the units of sizes, largest first; the last one is bytes.
var units = [...]struct {
	suffix string
	shift  uint
}{{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"", 0}}

// sizeText writes a size in the largest unit of which it is a whole number.
func sizeText(n int64) string {
	for _, u := range units {
		if n != 0 && n>>u.shift<<u.shift == n {
			return strconv.FormatInt(n>>u.shift, 10) + u.suffix
		}
	}
	return "0"
}

// parseSize reads a number of bytes with an optional unit, whose factors are powers of 1024.
func parseSize(s string) (int64, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 0 || n > 1<<62>>u.shift {
			return 0, fmt.Errorf("size %q out of range", s)
		}
		return n << u.shift, nil
	}
	return 0, fmt.Errorf("size %q", s)
}

func level(name, def, about string, v *slog.Level) setting {
	return setting{name: name, placeholder: "LEVEL", def: def, about: about, set: func(s string) error {
		if !slices.Contains([]string{"debug", "info", "warn", "error"}, strings.ToLower(s)) {
			return errors.New("want debug, info, warn or error")
		}
		return v.UnmarshalText([]byte(s))
	}}
}

func oneOf(name, def, about string, v *string, allowed ...string) setting {
	return setting{name: name, placeholder: strings.Join(allowed, "|"), def: def, about: about, set: func(s string) error {
		if !slices.Contains(allowed, s) {
			return fmt.Errorf("want %s", strings.Join(allowed, " or "))
		}
		*v = s
		return nil
	}}
}

func pubkey(name, def, about string, v *string) setting {
	return setting{name: name, placeholder: "PUBKEY", def: def, about: about, set: func(s string) error {
		*v = s
		if s == "" {
			return nil
		}
		pk, err := grasp.ParseAuthor(s)
		if err == nil {
			*v = pk.String()
		}
		return err
	}}
}

// webURL makes a flag for the address of a page or a picture.
func webURL(name, def, about string, v *string) setting {
	return setting{name: name, placeholder: "URL", def: def, about: about, set: func(s string) error {
		if err := nip11.CheckURL(s); err != nil {
			return err
		}
		*v = s
		return nil
	}}
}

// service returns the domain under which announcements list this relay. Without --domain that is the listen address, whose port may
// still be 0.
func (c *Config) service() (grasp.Service, error) {
	domain := c.Domain
	if domain == "" {
		host, port, err := net.SplitHostPort(c.Listen)
		if err != nil {
			return grasp.Service{}, fmt.Errorf("--listen: %q is not allowed: want host:port", c.Listen)
		}
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			return grasp.Service{}, fmt.Errorf("--domain: needed, because --listen %q names no host: announcements list this relay by its public host[:port], such as git.example.org", c.Listen)
		}
		if domain = c.Listen; port == "0" {
			domain = host
		}
	}
	s, err := grasp.ParseService(domain)
	switch {
	case err != nil && c.Domain == "":
		return grasp.Service{}, fmt.Errorf("--listen: %q is not allowed: %v", c.Listen, err)
	case err != nil:
		return grasp.Service{}, fmt.Errorf("--domain: %q is not allowed: %v", domain, err)
	}
	return s, nil
}

// bootstrap returns the normalised bootstrap relays and what is wrong with the others.
func (c *Config) bootstrap() ([]grasp.RelayURL, []string) {
	return relayURLs("--bootstrap", c.Bootstrap)
}

// index returns the normalised index relays, what is wrong with the others, and what is wrong with --mailboxes and --index-relays together.
func (c *Config) index() ([]grasp.RelayURL, []string) {
	urls, problems := relayURLs("--index-relays", c.IndexRelays)
	switch {
	case c.Mailboxes && !c.Sync:
		problems = append(problems, "--mailboxes: what participants write comes from other relays; leave --sync=false out")
	case c.Mailboxes && c.Private:
		problems = append(problems, "--mailboxes: other relays would learn who takes part in a service that is --private; leave one of the two out")
	case !c.Mailboxes && len(c.IndexRelays) > 0:
		problems = append(problems, "--index-relays: of no effect without --mailboxes; add that, or leave it out")
	}
	return urls, problems
}

// relayURLs returns the normalised URLs of a list, and what is wrong with the others.
func relayURLs(flag string, list []string) (urls []grasp.RelayURL, problems []string) {
	for _, raw := range list {
		u, err := grasp.NormalizeRelay(raw)
		if err == nil && !strings.ContainsAny(raw, ".:") {
			err = errors.New("want a relay URL such as wss://relay.example.org")
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %q is not allowed: %v", flag, raw, err))
			continue
		}
		if !slices.Contains(urls, u) {
			urls = append(urls, u)
		}
	}
	return urls, problems
}
