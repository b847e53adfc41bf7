// Tests of what PID 1 ends a sandbox for: whose doing it was is told by what the sandbox had, and by nothing else.
package main

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"
)

func TestAKillForMemoryIsTheMachinesWhereTheSandboxNeverCameNearItsLimit(t *testing.T) {
	const mib = 1 << 20
	before := memoryFacts{kills: 2, peak: 100 * mib, limit: 2048 * mib}
	for _, test := range []struct {
		name  string
		now   memoryFacts
		taken bool
	}{
		{"no kill", memoryFacts{2, 300 * mib, 2048 * mib}, false},
		{"far below", memoryFacts{3, 1500 * mib, 2048 * mib}, true},
		{"at its limit", memoryFacts{3, 2048 * mib, 2048 * mib}, false},
		{"at its pod's limit, which is met a little below", memoryFacts{3, 2020 * mib, 2048 * mib}, false},
		{"where files that were read filled it before", memoryFacts{9, 2047 * mib, 2048 * mib}, false},
	} {
		if taken := test.now.takenByMachine(before); taken != test.taken {
			t.Errorf("%s: taken by the machine is %v", test.name, taken)
		}
	}
}

// counting answers a watch whose count is told, and how often it was asked.
func counting(limit, made int64) (*fileWatch, *int) {
	asked := 0
	return &fileWatch{limit: limit, count: func() (int64, error) { asked++; return made, nil }}, &asked
}

func TestFilesAreCountedOnlyWhereThereMayBeTooMany(t *testing.T) {
	watch, asked := counting(1_000, 10)
	now := time.Now()
	for _, free := range []int64{100_000, 99_500, 99_001, 150_000, 149_001} {
		now = now.Add(time.Minute)
		if status, _ := watch.look(&freeFiles{free: free, room: true}, now); status != 0 || *asked != 0 {
			t.Fatalf("%d free: status %d, counted %d times", free, status, *asked)
		}
	}
	// Gone by others' doing, as it turns out: from there on it is told anew.
	for at, free := range []int64{148_999, 148_010} {
		now = now.Add(time.Minute)
		if status, _ := watch.look(&freeFiles{free: free, room: true}, now); status != 0 || *asked != 1 {
			t.Fatalf("look %d: status %d, counted %d times", at, status, *asked)
		}
	}
}

func TestASandboxThatMadeTooManyFilesEndsAsItsOwnDoing(t *testing.T) {
	watch, _ := counting(1_000, 1_001)
	now := time.Now()
	watch.look(&freeFiles{free: 100_000, room: true}, now)
	if status, why := watch.look(&freeFiles{free: 98_999, room: true}, now.Add(time.Minute)); status != exitFiles || why == "" {
		t.Fatalf("it ends with %d: %s", status, why)
	}
}

func TestAMachineWithoutFilesIsToBlameWhereTheSandboxHasFew(t *testing.T) {
	for _, test := range []struct {
		made, free int64
		room       bool
		status     int
	}{
		{99, 0, true, exitMachine},
		{99, fewFiles, true, 0},
		// Who has many may be the one who used them up.
		{101, 0, true, 0},
		// Some file systems give no files where they have no space, and that is another limit's business.
		{99, 0, false, 0},
	} {
		watch, _ := counting(1_000, test.made)
		status, _ := watch.look(&freeFiles{free: test.free, room: test.room}, time.Now())
		if status != test.status {
			t.Errorf("%+v: it ends with %d", test, status)
		}
	}
}

func TestWhatCannotBeCountedOrDoesNotRunOutEndsNothing(t *testing.T) {
	watch := &fileWatch{limit: 1, count: func() (int64, error) { return 0, errors.New("no") }}
	if status, _ := watch.look(&freeFiles{room: true}, time.Now()); status != 0 {
		t.Errorf("a count that failed ends it with %d", status)
	}
	if status, _ := watch.look(nil, time.Now()); status != 0 {
		t.Errorf("a file system without a number of files ends it with %d", status)
	}
}

func TestFilesAreNotCountedAgainAndAgain(t *testing.T) {
	watch, asked := counting(1_000, 10)
	now := time.Now()
	for i := 0; i < 3; i++ {
		watch.look(&freeFiles{room: true, free: 1}, now)
	}
	if *asked != 1 {
		t.Errorf("counted %d times at one moment", *asked)
	}
}

func TestOnlyWhatWasMadeOrChangedIsCounted(t *testing.T) {
	root := fakeTree(t, "old/a", "old/b", "old/c", "skipped/")
	time.Sleep(20 * time.Millisecond)
	since := time.Now()
	time.Sleep(20 * time.Millisecond)
	count := func(limit int64) int64 {
		made, err := countFiles(root, map[string]bool{root + "/skipped": true}, since, limit)
		check(t, err)
		return made
	}
	if made := count(100); made != 0 {
		t.Fatalf("%d of what was there", made)
	}
	check(t, os.Mkdir(root+"/new", 0o755))
	for at := 0; at < 5; at++ {
		check(t, os.WriteFile(fmt.Sprintf("%s/new/%d", root, at), nil, 0o644))
		check(t, os.WriteFile(fmt.Sprintf("%s/skipped/%d", root, at), nil, 0o644))
		// However it is dated: what tells is what nothing inside can set back.
		check(t, os.Chtimes(fmt.Sprintf("%s/new/%d", root, at), time.Unix(0, 0), time.Unix(0, 0)))
	}
	check(t, os.Chmod(root+"/old/a", 0o600))
	// new, its five files, and old/a; not the root's own directory.
	if made := count(100); made != 7 {
		t.Errorf("%d are counted", made)
	}
	for at := 0; at < 50; at++ {
		check(t, os.Link(root+"/new/0", fmt.Sprintf("%s/new/link%d", root, at)))
	}
	if made := count(100); made != 7 {
		t.Errorf("%d are counted where one has many names", made)
	}
	if made := count(3); made != 4 {
		t.Errorf("%d are counted up to one more than 3", made)
	}
}
