// The sandbox's memory as its cgroup tells it, of version 2 or 1: what its end takes with it, and who took it.
package main

// memoryFacts are of the cgroup that PID 1 and all below it are in.
type memoryFacts struct {
	// kills counts processes ended for memory, whoever was short of it.
	kills int64
	// peak is the most that was ever in use, limit what may be, both in bytes.
	peak, limit int64
}

// unlimited is more than a limit of version 1 ever is: its word for none lies above.
const unlimited = 1 << 60

// readMemory is false where the cgroup does not tell all of it, or has no limit.
func readMemory() (memoryFacts, bool) {
	kills, counted := cgroupNumber("oom_kill", "memory.events", "memory/memory.oom_control")
	// What was swapped out counts for version 1's limit too.
	peak, measured := cgroupNumber("", "memory.peak", "memory/memory.memsw.max_usage_in_bytes", "memory/memory.max_usage_in_bytes")
	limit, limited := cgroupNumber("", "memory.max", "memory/memory.limit_in_bytes")
	return memoryFacts{kills, peak, limit}, counted && measured && limited && limit < unlimited
}

// takenByMachine tells whether processes were ended since `before` for memory that the sandbox never had: its machine was
// short of it, or something else that it is a part of. A pod's own limit is met a little below its containers', by what its
// runtime keeps beside them; and where the peak is at the limit (by files that were read, say) nothing is proved.
func (now memoryFacts) takenByMachine(before memoryFacts) bool {
	const beside = 32 << 20
	return now.kills > before.kills && now.peak < now.limit-now.limit/16-beside
}

// memoryEnds says what goes with a process that passes the memory limit: "process" it alone, "sandbox" all of them; nil
// where the cgroup does not tell.
func memoryEnds() any {
	if group, ok := cgroupNumber("", "memory.oom.group"); ok {
		if group == 1 {
			return "sandbox"
		}
		return "process"
	}
	if _, ok := cgroupNumber("oom_kill", "memory/memory.oom_control"); ok {
		return "process"
	}
	return nil
}

// cgroupNumber is that of the first of the files that is there: of its line `key NUMBER`, or its only one.
func cgroupNumber(key string, names ...string) (int64, bool) {
	files := make([]string, len(names))
	for at, name := range names {
		files[at] = "/sys/fs/cgroup/" + name
	}
	value, err := firstNumber(key, files...)
	number, ok := value.(int64)
	return number, ok && err == nil
}
