//! The system that is simulated: a few numbers from a small text file.

/// The most classes: one bit of a word each, and one place to spare.
pub const MOST_CLASSES: usize = 63;

/// A class of jobs: Poisson arrivals, exponential sizes.
#[derive(Clone, Copy)]
pub struct Class {
    /// Servers a job holds.
    pub need: u32,
    /// Arrivals per second.
    pub rate: f64,
    /// Mean size in seconds.
    pub mean: f64,
    /// Position in the file.
    pub position: usize,
}

/// The servers and the classes.
pub struct System {
    /// Servers, `k`.
    pub servers: u32,
    /// In descending order of arrival rate so that a linear choice of class ends early.
    pub classes: Vec<Class>,
}

impl System {
    /// Reads `servers` and then `need rate mean` for each class, apart by white space.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut numbers = text.split_whitespace().map(|word| {
            word.parse::<f64>()
                .ok()
                .filter(|x| x.is_finite() && *x > 0.0)
                .ok_or(format!("{word:?} is not a positive number"))
        });
        let servers = numbers.next().ok_or("the system file is empty")?? as u32;
        let numbers = numbers.collect::<Result<Vec<f64>, String>>()?;
        let (triples, rest) = numbers.as_chunks::<3>();
        if !rest.is_empty() || triples.is_empty() || triples.len() > MOST_CLASSES {
            return Err(format!("a system has need, rate and mean of each of 1 to {MOST_CLASSES} classes"));
        }
        let class =
            |(position, &[need, rate, mean]): (usize, &[f64; 3])| Class { need: need as u32, rate, mean, position };
        let mut classes: Vec<Class> = triples.iter().enumerate().map(class).collect();
        classes.sort_by(|a, b| b.rate.total_cmp(&a.rate));
        let mut needs: Vec<u32> = classes.iter().map(|class| class.need).collect();
        needs.sort_unstable();
        let whole = triples.iter().all(|triple| triple[0].fract() == 0.0);
        if !whole
            || needs.windows(2).any(|pair| pair[0] == pair[1])
            || needs.iter().any(|need| !(1..=servers).contains(need))
        {
            return Err(format!("the needs must be different whole numbers between 1 and {servers}"));
        }
        Ok(Self { servers, classes })
    }

    /// Two classes, of need 1 and of all servers.
    pub fn is_one_or_all(&self) -> bool {
        let need = |n| self.classes.iter().any(|class| class.need == n);
        self.classes.len() == 2 && need(1) && need(self.servers)
    }
}
