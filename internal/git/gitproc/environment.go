package gitproc

import (
	"path/filepath"
	"strconv"
	"strings"
)

// Dirs has the directories that a process works in, as absolute paths.
type Dirs struct {
	Repository string   // the repository; "" for a process that needs none
	Objects    string   // where git writes objects, and looks for them first; "" is the repository's
	Alternates []string // object directories that git only reads
	Temp       string   // for temporary files; "" is where git writes objects
}

// settings has the settings of every process.
var settings = []word{
	// No code from a repository, and no other repository.
	"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.alternateRefsCommand=true", "safe.bareRepository=explicit",
	// No connection.
	"protocol.allow=never",
	// No maintenance but graspd's.
	"gc.auto=0", "maintenance.auto=false", "receive.autogc=false",
	// What clients may ask for.
	"uploadpack.allowFilter=true", "uploadpackfilter.allow=false", "uploadpackfilter.blob:none.allow=true",
	"uploadpackfilter.blob:limit.allow=true", "uploadpackfilter.tree.allow=true", "uploadpackfilter.tree.maxDepth=0",
	"uploadpack.allowTipSHA1InWant=true", "uploadpack.allowReachableSHA1InWant=true", "uploadpack.allowAnySHA1InWant=false",
	"uploadpack.allowRefInWant=true", "uploadpack.allowSidebandAll=true", "transfer.advertiseObjectInfo=true",
	"uploadpack.advertiseBundleURIs=false", "transfer.bundleURI=false", "transfer.advertiseSID=false",
	// Memory: one request has one thread.
	"pack.threads=1", "pack.windowMemory=64m", "pack.deltaCacheSize=32m", "core.packedGitWindowSize=32m",
	"core.packedGitLimit=256m", "core.bigFileThreshold=16m", "core.deltaBaseCacheLimit=32m",
	// A pack has the same files in all releases, and whoever keeps them makes them durable.
	"pack.writeReverseIndex=false", "core.fsync=none",
}

// argv returns the argument vector of a command.
func (g *Git) argv(c Command, at Dirs) []string {
	argv := []string{g.program}
	set := func(words ...word) {
		for _, w := range words {
			argv = append(argv, "-c", string(w))
		}
	}
	set(settings...)
	set(c.settings...)
	if at.Repository != "" {
		set("safe.directory=" + word(at.Repository))
	}
	argv = append(argv, string(c.name))
	for _, w := range c.args {
		argv = append(argv, string(w))
	}
	if c.path {
		argv = append(argv, "--", at.Repository)
	}
	return argv
}

// environ returns the whole environment of a process. It hands on nothing of graspd's own.
func (g *Git) environ(c Command, at Dirs, protocol int) []string {
	env := []string{
		"PATH=" + filepath.Dir(g.program), "HOME=/nonexistent", "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + globalConfig, "GIT_ATTR_NOSYSTEM=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_ADVICE=0",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", "GIT_SSH_COMMAND=/bin/false", "GIT_ALLOW_PROTOCOL=",
	}
	set := func(name, value string) {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	objects := at.Objects
	if at.Repository != "" {
		set("GIT_CEILING_DIRECTORIES", filepath.Dir(at.Repository))
		if !c.path {
			set("GIT_DIR", at.Repository)
		}
		objects = filepath.Join(at.Repository, "objects")
	}
	if at.Objects != "" {
		objects = at.Objects
		set("GIT_OBJECT_DIRECTORY", at.Objects)
	}
	var quoted []string
	for _, dir := range at.Alternates {
		quoted = append(quoted, quotePath(dir))
	}
	set("GIT_ALTERNATE_OBJECT_DIRECTORIES", strings.Join(quoted, ":"))
	if at.Temp != "" {
		objects = at.Temp
	}
	set("TMPDIR", objects)
	if protocol == 1 || protocol == 2 {
		set("GIT_PROTOCOL", "version="+strconv.Itoa(protocol))
	}
	return env
}

// quotePath quotes a path for a list of git, in which a colon would end the path.
func quotePath(path string) string {
	quoted := []byte{'"'}
	for i := range len(path) {
		switch c := path[i]; {
		case c == '"' || c == '\\':
			quoted = append(quoted, '\\', c)
		case c < ' ' || c >= 0x7f:
			quoted = append(quoted, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			quoted = append(quoted, c)
		}
	}
	return string(append(quoted, '"'))
}
