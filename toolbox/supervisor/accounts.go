// Users as the image's /etc/passwd and /etc/group have them, and the environment that a user's process gets.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Files of the image, or of an agent: no more is read.
const maxAccountFileBytes = 4 << 20

type account struct {
	Name, Home, Shell string
	Uid, Gid          uint32
}

// parsePasswd reads `name:password:uid:gid:comment:home:shell`; lines that are none are passed over, as libc does.
func parsePasswd(text []byte) []account {
	var accounts []account
	for _, line := range strings.Split(string(text), "\n") {
		fields := strings.Split(line, ":")
		if len(fields) < 7 {
			continue
		}
		uid, badUid := strconv.ParseUint(fields[2], 10, 32)
		gid, badGid := strconv.ParseUint(fields[3], 10, 32)
		if badUid != nil || badGid != nil {
			continue
		}
		accounts = append(accounts, account{
			Name: fields[0], Uid: uint32(uid), Gid: uint32(gid), Home: fields[5], Shell: strings.TrimSpace(fields[6]),
		})
	}
	return accounts
}

type group struct {
	name    string
	gid     uint32
	members []string
}

// parseGroup reads `name:password:gid:member,member`.
func parseGroup(text []byte) []group {
	var groups []group
	for _, line := range strings.Split(string(text), "\n") {
		fields := strings.Split(line, ":")
		if len(fields) < 4 {
			continue
		}
		gid, err := strconv.ParseUint(fields[2], 10, 32)
		if err != nil {
			continue
		}
		groups = append(groups, group{fields[0], uint32(gid), strings.Split(strings.TrimSpace(fields[3]), ",")})
	}
	return groups
}

func readAccountFile(path string) ([]byte, error) {
	file, err := openRegular(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text := make([]byte, maxAccountFileBytes)
	n, err := readUpTo(file, text)
	return append([]byte(nil), text[:n]...), err
}

// accountBook is /etc/passwd and /etc/group as they were at one moment.
type accountBook struct {
	accounts []account
	groups   []group
}

func readAccountBook() (accountBook, error) {
	passwd, err := readAccountFile("/etc/passwd")
	if err != nil {
		return accountBook{}, err
	}
	groups, err := readAccountFile("/etc/group")
	return accountBook{parsePasswd(passwd), parseGroup(groups)}, err
}

// accountsFor gives the book that a process's user is looked up in: for a clean environment the image's own, as it was
// when PID 1 started, so that no /etc/passwd laid since says where a verifier's home is. A name that the image does not
// have is looked up as things stand: the task's own set-up may have made that user.
func (o origin) accountsFor(word string, clean bool) (accountBook, error) {
	if clean {
		if _, err := o.accounts.lookUpUser(word, o.user); err == nil {
			return o.accounts, nil
		}
	}
	return readAccountBook()
}

// lookUpUser resolves `name`, `uid`, `name:group` or `uid:gid`; an empty word is `fallback`. A uid that
// /etc/passwd does not have is taken as it is, with the home `/` and the group 0, as engines do.
func (b accountBook) lookUpUser(word string, fallback account) (account, error) {
	if word == "" {
		word = strconv.FormatUint(uint64(fallback.Uid), 10)
		if known, err := b.lookUpUser(word, fallback); err != nil || known.Name != "" {
			return known, err
		}
		return fallback, nil
	}
	name, groupName := word, ""
	if at := strings.IndexByte(word, ':'); at >= 0 {
		name, groupName = word[:at], word[at+1:]
	}
	found, ok := findAccount(b.accounts, name)
	if !ok {
		return account{}, failure{"not-found", fmt.Sprintf("no user %q in /etc/passwd", name)}
	}
	if groupName != "" {
		gid, err := b.lookUpGroup(groupName)
		if err != nil {
			return account{}, err
		}
		found.Gid = gid
	}
	return found, nil
}

func findAccount(accounts []account, name string) (account, bool) {
	for _, one := range accounts {
		if one.Name == name {
			return one, true
		}
	}
	uid, err := strconv.ParseUint(name, 10, 32)
	if err != nil {
		return account{}, false
	}
	for _, one := range accounts {
		if one.Uid == uint32(uid) {
			return one, true
		}
	}
	return account{Uid: uint32(uid), Home: "/"}, true
}

func (b accountBook) lookUpGroup(name string) (uint32, error) {
	for _, one := range b.groups {
		if one.name == name {
			return one.gid, nil
		}
	}
	gid, err := strconv.ParseUint(name, 10, 32)
	if err != nil {
		return 0, failure{"not-found", fmt.Sprintf("no group %q in /etc/group", name)}
	}
	return uint32(gid), nil
}

// groupsOf gives the user's own group and all that name it as a member.
func (b accountBook) groupsOf(user account) []uint32 {
	ids := []uint32{user.Gid}
	for _, one := range b.groups {
		for _, member := range one.members {
			if member == user.Name && user.Name != "" && one.gid != user.Gid {
				ids = append(ids, one.gid)
			}
		}
	}
	return ids
}

// withheldFromClean tells whether a clean environment must not have this variable of the image.
func withheldFromClean(name string) bool {
	return name == "BASH_ENV" || name == "ENV" || strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "PYTHON")
}

// environmentOf lays the user's own variables and `added` over PID 1's. A HOME that is not root's is the image's own
// word, which engines keep for every user.
func (o origin) environmentOf(user account, added environment, clean bool) environment {
	env := environment{}
	for name, value := range o.env {
		if !clean || !withheldFromClean(name) {
			env[name] = value
		}
	}
	if home := env["HOME"]; home == "" || home == "/" || home == o.accounts.rootHome() {
		env["HOME"] = user.Home
	}
	if env["HOME"] == "" {
		env["HOME"] = "/"
	}
	if user.Name != "" {
		env["USER"] = user.Name
	}
	for name, value := range added {
		env[name] = value
	}
	return env
}

// rootHome is where an engine's HOME for root points, by which it started PID 1.
func (b accountBook) rootHome() string {
	root, err := b.lookUpUser("0", account{})
	if err != nil {
		return ""
	}
	return root.Home
}

// without leaves out the variables whose names begin as one of `prefixes` (with commas between them) says.
func (e environment) without(prefixes string) environment {
	for _, prefix := range strings.Split(prefixes, ",") {
		for name := range e {
			if prefix != "" && strings.HasPrefix(name, prefix) {
				delete(e, name)
			}
		}
	}
	return e
}

func (e environment) list() []string {
	entries := make([]string, 0, len(e))
	for name, value := range e {
		entries = append(entries, name+"="+value)
	}
	return entries
}
