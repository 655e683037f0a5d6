package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/operate/conffile"
)

// configBytes bounds a configuration file.
const configBytes = 1 << 20

// configSetting returns the flag of the configuration file. It is looked for before all other flags, as the file sets them.
func configSetting() setting {
	return setting{name: "config", placeholder: "FILE", about: "TOML file with settings, which have the names of the flags; flags and variables win over it. graspd config writes one", set: func(string) error { return nil }}
}

// An environment keeps what it knows of a configuration file among the variables, under names that no variable can have.
const (
	originMark      = "=" // behind the name of a variable that the file sets: the place in the file
	fileProblemsKey = "=" // what is wrong with the file, a line each
)

// origin returns the place in the configuration file that set a variable; for any other variable its name.
func (e environment) origin(name string) string {
	if at, ok := e[name+originMark]; ok {
		return at
	}
	return name
}

// fileProblems says what is wrong with the configuration file.
func (e environment) fileProblems() []string {
	if e[fileProblemsKey] == "" {
		return nil
	}
	return strings.Split(e[fileProblemsKey], "\n")
}

// withFile returns the environment with the settings of the configuration file that a command line names. A variable goes before the
// file.
func (e environment) withFile(c command, args []string) environment {
	rows := c.rows(e)
	if !slices.ContainsFunc(rows, func(r setting) bool { return r.name == "config" }) {
		return e
	}
	name, from := e[configSetting().env()], configSetting().env()
	if l, err := readLine(c.name, rows, args); err == nil && len(l.given["config"]) > 0 {
		name, from = l.given["config"][len(l.given["config"])-1], "--config"
	}
	if name == "" {
		return e
	}
	out := make(environment, len(e))
	maps.Copy(out, e)
	text, err := readText(name, configBytes)
	if err != nil {
		out[fileProblemsKey] = fmt.Sprintf("%s: %v", from, err)
		return out
	}
	out.take(name, text)
	return out
}

// reload returns the environment with what the configuration file of serve says now.
func (e environment) reload(args []string) environment {
	out := make(environment, len(e))
	for name, value := range e {
		if _, file := e[name+originMark]; !file && !strings.HasSuffix(name, originMark) {
			out[name] = value
		}
	}
	serve, _ := commandNamed("serve")
	return out.withFile(serve, args)
}

// take adds the settings of a configuration file to the environment, and notes what is wrong with the file.
func (e environment) take(name string, text []byte) {
	rows := new(Config).settings()
	entries, problems := conffile.Parse(text)
	lines := make(map[string]int)
	for _, x := range entries {
		wrong := func(words string) { problems = append(problems, conffile.Problem{Line: x.Line, Text: words}) }
		at := slices.IndexFunc(rows, func(r setting) bool { return r.name == x.Key })
		switch {
		case at < 0:
			wrong(noSuchKey(x.Key, rows))
			continue
		case x.Key == "config":
			wrong("config: a file names no other file")
			continue
		case lines[x.Key] > 0:
			wrong(fmt.Sprintf("%s: is set on line %d already", x.Key, lines[x.Key]))
			continue
		case x.Kind == conffile.List && !rows[at].isList:
			wrong(x.Key + ": takes one value and no list")
			continue
		case x.Kind == conffile.Bool && !rows[at].isBool:
			wrong(x.Key + ": is no switch; write its value in quotes")
			continue
		}
		lines[x.Key] = x.Line
		if _, set := e[rows[at].env()]; set {
			continue // the variable wins
		}
		e[rows[at].env()] = strings.Join(x.Values, ",")
		e[rows[at].env()+originMark] = fmt.Sprintf("%s:%d: %s", name, x.Line, x.Key)
	}
	slices.SortStableFunc(problems, func(a, b conffile.Problem) int { return a.Line - b.Line })
	told := make([]string, len(problems))
	for i, p := range problems {
		told[i] = fmt.Sprintf("%s:%d: %s", name, p.Line, strings.ReplaceAll(p.Text, "\n", " "))
	}
	e[fileProblemsKey] = strings.Join(told, "\n")
}

// noSuchKey words the problem of a key that is no flag of serve.
func noSuchKey(key string, rows []setting) string {
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.name
	}
	flag := strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(key), "_", "-"), "graspd-")
	if slices.Contains(names, flag) {
		return fmt.Sprintf("there is no setting %q; did you mean %s?", key, flag)
	}
	if meant, ok := nearest(key, names); ok {
		return fmt.Sprintf("there is no setting %q; did you mean %s?", key, meant)
	}
	return fmt.Sprintf("there is no setting %q (graspd help serve lists the flags; here they are written without dashes in front)", key)
}

// readText reads a file of at most so many bytes, and leaves out the byte order mark that some editors put in front.
func readText(name string, most int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, fmt.Errorf("%s: larger than %d KiB", name, most>>10)
	}
	text, err := readListFile(name)
	return bytes.TrimPrefix(text, []byte("\ufeff")), err
}
