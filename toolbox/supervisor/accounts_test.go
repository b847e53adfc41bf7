// Tests of /etc/passwd and /etc/group as they come, and of a job's environment.
package main

import (
	"reflect"
	"testing"
)

func TestPasswdLinesThatAreNoneArePassedOver(t *testing.T) {
	text := "root:x:0:0:root:/root:/bin/bash\n# comment\n\n+::::::\nbad:x:-1:0::/:\nshort:x:1:1\nbig:x:4294967296:0::/:\napp:x:1234:1235:A,B:/home/app:\n"
	want := []account{{"root", "/root", "/bin/bash", 0, 0}, {"app", "/home/app", "", 1234, 1235}}
	if got := parsePasswd([]byte(text)); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestAUserIsFoundByNameThenByUid(t *testing.T) {
	accounts := []account{{Name: "root"}, {Name: "1000", Uid: 7}, {Name: "app", Uid: 1000, Home: "/home/app"}}
	for word, want := range map[string]account{
		"app": accounts[2], "0": accounts[0], "1000": accounts[1], "4242": {Uid: 4242, Home: "/"},
	} {
		if got, ok := findAccount(accounts, word); !ok || got != want {
			t.Errorf("%s: %+v", word, got)
		}
	}
	for _, word := range []string{"nobody", "", "-1", "4294967296"} {
		if got, ok := findAccount(accounts, word); ok {
			t.Errorf("%q: %+v", word, got)
		}
	}
}

func TestGroupsAreReadWithTheirMembers(t *testing.T) {
	want := []group{{"docker", 99, []string{"app", "b"}}, {"empty", 5, []string{""}}}
	if got := parseGroup([]byte("docker:x:99:app,b\nempty:x:5:\nbad:x:y:\nshort\n")); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestACleanEnvironmentHasNothingThatActsOnItsPrograms(t *testing.T) {
	base := environment{"LD_PRELOAD": "x", "PYTHONPATH": "x", "BASH_ENV": "x", "ENV": "x", "PATH": "/bin", "HOME": "/image"}
	from := origin{env: base}
	user := account{Name: "app", Home: "/home/app"}
	want := environment{"PATH": "/bin", "HOME": "/image", "USER": "app", "LD_ADDED": "y"}
	if got := from.environmentOf(user, environment{"LD_ADDED": "y"}, true); !reflect.DeepEqual(got, want) {
		t.Errorf("clean: %v", got)
	}
	if got := from.environmentOf(user, nil, false); got["LD_PRELOAD"] != "x" || len(got) != len(base)+1 {
		t.Errorf("whole: %v", got)
	}
	delete(base, "HOME")
	if got := from.environmentOf(user, nil, true)["HOME"]; got != "/home/app" {
		t.Errorf("HOME is %s", got)
	}
}

func TestACleanEnvironmentKnowsTheUsersThatTheImageHas(t *testing.T) {
	laid, err := readAccountBook()
	if err != nil {
		t.Fatal(err)
	}
	image := accountBook{
		accounts: []account{{Name: "root", Home: "/image/root"}, {Name: "app", Home: "/image/app", Uid: 1000, Gid: 7}},
		groups:   []group{{"extra", 8, []string{"app"}}},
	}
	from := origin{accounts: image, user: image.accounts[1], env: environment{"HOME": "/image/root"}}
	for _, word := range []string{"app", "1000", "", "app:extra"} {
		book, err := from.accountsFor(word, true)
		if err != nil || !reflect.DeepEqual(book, image) {
			t.Fatalf("%q: %+v, %v", word, book, err)
		}
		user, err := book.lookUpUser(word, from.user)
		if err != nil || user.Home != "/image/app" || from.environmentOf(user, nil, true)["HOME"] != "/image/app" {
			t.Errorf("%q: %+v, %v", word, user, err)
		}
	}
	if got := image.groupsOf(image.accounts[1]); !reflect.DeepEqual(got, []uint32{7, 8}) {
		t.Errorf("groups: %v", got)
	}
	for word, clean := range map[string]bool{"app": false, "made-by-set-up": true} {
		if book, err := from.accountsFor(word, clean); err != nil || !reflect.DeepEqual(book, laid) {
			t.Errorf("%q, clean %v: not as things stand, %v", word, clean, err)
		}
	}
}

func TestAnOptionalUserIsANameAUidOrNull(t *testing.T) {
	for text, want := range map[string]string{`"app"`: "app", `7`: "7", `null`: "", `"app:staff"`: "app:staff"} {
		var word userWord
		if err := word.UnmarshalJSON([]byte(text)); err != nil || string(word) != want {
			t.Errorf("%s: %q, %v", text, word, err)
		}
	}
	var word userWord
	for _, text := range []string{`-1`, `{}`, `1.5`, `4294967296`} {
		if err := word.UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

func TestVariablesOfThePlatformAreForgotten(t *testing.T) {
	all := environment{"KUBERNETES_PORT_443_TCP": "x", "KUBERNETES_SERVICE_HOST": "x", "KUBERNETES": "mine", "PATH": "/bin"}
	want := environment{"KUBERNETES": "mine", "PATH": "/bin"}
	if got := all.without("KUBERNETES_SERVICE_,KUBERNETES_PORT"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	if got := want.without(""); len(got) != 2 {
		t.Errorf("nothing was to be forgotten: %v", got)
	}
}
