module passband/supervisor

go 1.19
