// A program that leaves a sandbox nothing to send from.

/** Processes that `everyPort` starts; each makes a file `/held-N` when it has its part. */
export const portTakers = 40;

/** Perl that binds each port which a connection could begin at, and holds them for ten minutes. */
export const everyPort = `use strict; use Socket;
open(my $range, '<', '/proc/sys/net/ipv4/ip_local_port_range') or die; my ($first, $last) = split ' ', <$range>;
for my $part (0 .. ${portTakers - 1}) {
  next if fork;
  my @held;
  for (my $port = $first + $part; $port <= $last; $port += ${portTakers}) {
    socket(my $s, PF_INET, SOCK_STREAM, 0) or die; bind($s, sockaddr_in($port, INADDR_ANY)); push @held, $s;
  }
  open(my $done, '>', "/held-$part") or die; close($done);
  sleep 600; exit;
}
sleep 600;
`;
